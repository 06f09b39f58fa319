"""The exceptions of shale.lmdb: py-lmdb's, name for name; and what raises them in several places."""

import errno as _errno
import os as _os
from typing import Any as _Any

_REASONS = {
    -30799: "MDB_KEYEXIST: Key/data pair already exists",
    -30798: "MDB_NOTFOUND: No matching key/data pair found",
    -30796: "MDB_CORRUPTED: Located page was wrong type",
    -30794: "MDB_VERSION_MISMATCH: Database environment version mismatch",
    -30793: "MDB_INVALID: File is not an LMDB file",
    -30791: "MDB_DBS_FULL: Environment maxdbs limit reached (Please use a larger Environment(max_dbs=) parameter)",
    -30784: "MDB_INCOMPATIBLE: Operation and DB incompatible, or DB flags changed",
    -30781: "MDB_BAD_VALSIZE: Unsupported size of key/DB name/data, or wrong DUPFIXED size",
}


class Error(Exception):
    """The base of all of them. `what`: the operation or file; `code`: LMDB's or the system's number, 0 for none; `reason`: its text."""

    CODE = 0

    def __init__(self, what="", code=0):
        self.what, self.code = what, code
        self.reason = _REASONS.get(code) or ("Successful return: 0" if not code else _os.strerror(code))
        super().__init__(f"{what}: {self.reason}" if code else what)

    def __reduce__(self):
        return type(self), (self.what, self.code)


class KeyExistsError(Error):
    """Never raised here: nothing is written."""

    CODE = -30799


class NotFoundError(Error):
    """There is no database of this name. (A missing key is not an error.)"""

    CODE = -30798


class PageNotFoundError(Error):
    """Never raised here: such a file is CorruptedError."""

    CODE = -30797


class CorruptedError(Error):
    """The file is damaged or truncated: the text names file, byte and fact."""

    CODE = -30796


class PanicError(Error):
    """Never raised here."""

    CODE = -30795


class VersionMismatchError(Error):
    """Never raised here: files of other LMDB versions are IncompatibleError."""

    CODE = -30794


class InvalidError(Error):
    """The file is not an LMDB file."""

    CODE = -30793


class MapFullError(Error):
    """Never raised here."""

    CODE = -30792


class DbsFullError(Error):
    """A named database was requested without max_dbs."""

    CODE = -30791


class ReadersFullError(Error):
    """Never raised here: readers are not counted."""

    CODE = -30790


class TlsFullError(Error):
    """Never raised here."""

    CODE = -30789


class TxnFullError(Error):
    """Never raised here."""

    CODE = -30788


class CursorFullError(Error):
    """Never raised here: a tree that deep is CorruptedError."""

    CODE = -30787


class PageFullError(Error):
    """Never raised here."""

    CODE = -30786


class MapResizedError(Error):
    """Never raised here: nothing is mapped."""

    CODE = -30785


class IncompatibleError(Error):
    """An operation that needs sorted duplicates; named databases; files with an unsupported layout."""

    CODE = -30784


class BadRslotError(Error):
    """Never raised here."""

    CODE = -30783


class BadTxnError(Error):
    """Never raised here."""

    CODE = -30782


class BadValsizeError(Error):
    """A key is empty."""

    CODE = -30781


class BadDbiError(Error):
    """Never raised here."""

    CODE = -30780


class ProblemError(Error):
    """Never raised here."""

    CODE = -30779


class BadChecksumError(Error):
    """Never raised here."""

    CODE = -30778


class CryptoFailError(Error):
    """Never raised here."""

    CODE = -30777


class EnvEncryptionError(Error):
    """Never raised here."""

    CODE = -30776


class ReadonlyError(Error):
    """The operation would write: shale.lmdb only reads."""

    CODE = _errno.EACCES


class InvalidParameterError(Error):
    """An argument is invalid here."""

    CODE = _errno.EINVAL


class LockError(Error):
    """Never raised here: nothing is locked."""

    CODE = _errno.EAGAIN


class MemoryError(Error):  # py-lmdb's name
    """Never raised here; Python's own MemoryError is."""

    CODE = _errno.ENOMEM


class DiskError(Error):
    """Never raised here."""

    CODE = _errno.ENOSPC


# Written out, for type checkers.
__all__ = [
    "Error", "KeyExistsError", "NotFoundError", "PageNotFoundError", "CorruptedError", "PanicError",
    "VersionMismatchError", "InvalidError", "MapFullError", "DbsFullError", "ReadersFullError", "TlsFullError",
    "TxnFullError", "CursorFullError", "PageFullError", "MapResizedError", "IncompatibleError", "BadRslotError",
    "BadTxnError", "BadValsizeError", "BadDbiError", "ProblemError", "BadChecksumError", "CryptoFailError",
    "EnvEncryptionError", "ReadonlyError", "InvalidParameterError", "LockError", "MemoryError", "DiskError",
]

CLOSED = "Attempt to operate on closed/deleted/dropped object."
_READS_ONLY = "{} would write, and shale.lmdb only reads; to write, import the real lmdb in a program without shale.lmdb.install()"


def refusal(what: str) -> ReadonlyError:
    """The error of `what` that would write."""
    return ReadonlyError(_READS_ONLY.format(what), ReadonlyError.CODE)


def refused(name: str) -> _Any:
    """A method of this name that raises ReadonlyError."""

    def method(self: _Any, *args: _Any, **more: _Any) -> None:
        raise refusal(f"{type(self).__name__}.{name}()")

    method.__name__, method.__doc__ = name, "Refused: ReadonlyError."
    return method


def check_bytes(key: _Any) -> None:
    """Errors: TypeError for an object without bytes."""
    if isinstance(key, str):
        raise TypeError("Won't implicitly convert Unicode to bytes; use .encode()")
    memoryview(key)


def is_empty(key: _Any) -> bool:
    """Whether a falsy key is bytes of length 0. An object that is not bytes is refused where it is read."""
    try:
        return memoryview(key).nbytes == 0
    except TypeError:
        return False
