"""The exceptions of shale.lmdb: py-lmdb's, name for name; and what raises them in several places."""

import errno as _errno
import os as _os
from typing import Any as _Any
from typing import Type as _Type

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


def _kind(name: str, code: int, when: str = "Never raised here.") -> _Type[Error]:
    return type(name, (Error,), {"__doc__": when, "__module__": __name__, "CODE": code})


KeyExistsError = _kind("KeyExistsError", -30799, "Never raised here: nothing is written.")
NotFoundError = _kind("NotFoundError", -30798, "There is no database of this name. (A missing key is not an error.)")
PageNotFoundError = _kind("PageNotFoundError", -30797, "Never raised here: such a file is CorruptedError.")
CorruptedError = _kind("CorruptedError", -30796, "The file is damaged or truncated: the text names file, byte and fact.")
PanicError = _kind("PanicError", -30795)
VersionMismatchError = _kind("VersionMismatchError", -30794, "Never raised here: files of other LMDB versions are IncompatibleError.")
InvalidError = _kind("InvalidError", -30793, "The file is not an LMDB file.")
MapFullError = _kind("MapFullError", -30792)
DbsFullError = _kind("DbsFullError", -30791, "A named database was requested without max_dbs.")
ReadersFullError = _kind("ReadersFullError", -30790, "Never raised here: readers are not counted.")
TlsFullError = _kind("TlsFullError", -30789)
TxnFullError = _kind("TxnFullError", -30788)
CursorFullError = _kind("CursorFullError", -30787, "Never raised here: a tree that deep is CorruptedError.")
PageFullError = _kind("PageFullError", -30786)
MapResizedError = _kind("MapResizedError", -30785, "Never raised here: nothing is mapped.")
IncompatibleError = _kind("IncompatibleError", -30784, "An operation that needs sorted duplicates; named databases; files with an unsupported layout.")
BadRslotError = _kind("BadRslotError", -30783)
BadTxnError = _kind("BadTxnError", -30782)
BadValsizeError = _kind("BadValsizeError", -30781, "A key is empty.")
BadDbiError = _kind("BadDbiError", -30780)
ProblemError = _kind("ProblemError", -30779)
BadChecksumError = _kind("BadChecksumError", -30778)
CryptoFailError = _kind("CryptoFailError", -30777)
EnvEncryptionError = _kind("EnvEncryptionError", -30776)
ReadonlyError = _kind("ReadonlyError", _errno.EACCES, "The operation would write: shale.lmdb only reads.")
InvalidParameterError = _kind("InvalidParameterError", _errno.EINVAL, "An argument is invalid here.")
LockError = _kind("LockError", _errno.EAGAIN, "Never raised here: nothing is locked.")
MemoryError = _kind("MemoryError", _errno.ENOMEM, "Never raised here; Python's own MemoryError is.")  # py-lmdb's name
DiskError = _kind("DiskError", _errno.ENOSPC)

CLOSED = "Attempt to operate on closed/deleted/dropped object."
_READS_ONLY = "{} would write, and shale.lmdb only reads; to write, import the real lmdb in a program without shale.lmdb.install()"


def refusal(what: str) -> Error:
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
