"""py-lmdb's read side in flat memory: `import shale.lmdb as lmdb`, or `shale.lmdb.install()` before others import lmdb.

Reads LMDB files that anyone wrote, page by page with pread: nothing is mapped, locked, created or unlinked, so the resident set
does not grow with the file, a truncated file raises CorruptedError instead of killing the process, and environments pickle and
work in forked and spawned workers. Names, arguments, results and errors are those of py-lmdb 3.0 (1.x and 2.x have a part of
them).

What differs: nothing can be written (ReadonlyError); named databases and sorted duplicates are not read (IncompatibleError);
with buffers=True a memoryview owns its bytes and outlives the transaction; a file may be open any number of times. docs/lmdb.md.
"""

import operator as _operator
import os as _os
import sys as _sys
import types as _types
from typing import Any, Optional, Union

from shale import _shale
from shale._lmdb_cursor import Cursor, _Database, check_database
from shale._lmdb_errors import *  # py-lmdb's names, and what raises them

__version__ = "3.0.0"  # of the py-lmdb whose names and errors these are: scripts ask for it

# Written out, for type checkers.
__all__ = [
    "Cursor", "Environment", "Transaction", "_Database", "enable_drop_gil", "install", "open", "version", "Error",
    "KeyExistsError", "NotFoundError", "PageNotFoundError", "CorruptedError", "PanicError", "VersionMismatchError",
    "InvalidError", "MapFullError", "DbsFullError", "ReadersFullError", "TlsFullError", "TxnFullError",
    "CursorFullError", "PageFullError", "MapResizedError", "IncompatibleError", "BadRslotError", "BadTxnError",
    "BadValsizeError", "BadDbiError", "ProblemError", "BadChecksumError", "CryptoFailError", "EnvEncryptionError",
    "ReadonlyError", "InvalidParameterError", "LockError", "MemoryError", "DiskError",
]

_MAX_KEY_BYTES = 511


def version(subpatch: bool = False, lib_version: Optional[int] = None) -> tuple:
    """(0, 9, 36), and a fourth number 0 with `subpatch`: the LMDB whose results these are. No such library is in use."""
    return (0, 9, 36, 0) if subpatch else (0, 9, 36)


def enable_drop_gil() -> None:
    """Does nothing, as in py-lmdb."""


def install() -> _types.ModuleType:
    """Makes this module what `import lmdb` gives, in this process; returns it. Call it before anything imports lmdb.

    A spawned worker is another process: call it at the top of the script's module, which the worker imports too.
    Errors: RuntimeError if the real lmdb has been imported already: parts of the program would go on using it.
    """
    here = _sys.modules[__name__]
    present = _sys.modules.get("lmdb")
    if present is not None and present is not here:
        raise RuntimeError(
            f"lmdb is already imported ({getattr(present, '__file__', 'built in')}); "
            "call shale.lmdb.install() before anything imports lmdb"
        )
    _sys.modules["lmdb"] = here
    # py-lmdb's implementation, which code names that must have this one: `from lmdb import cpython`.
    _sys.modules["lmdb.cpython"] = here
    vars(here)["cpython"] = here
    return here


def _error_of(kind: str, text: str) -> Error:
    """What the extension module raises. `text` names file, byte and fact."""
    of_kind = {"damaged": CorruptedError, "unsupported": IncompatibleError}.get(kind)
    return of_kind(text, of_kind.CODE) if of_kind else Error(text)


def _path_text(path: Any) -> str:
    if path is None:
        raise TypeError("'path' argument required")
    try:
        return _os.fsdecode(path)
    except TypeError:
        raise TypeError("Filesystem path must be Unicode or bytes.") from None


def _not_negative(value: Optional[int], default: int = 0) -> int:
    count = default if value is None else _operator.index(value)
    if count < 0:
        raise OverflowError("Integer argument must be >= 0")
    if count >= 2**64:
        raise OverflowError("Integer argument exceeds limit.")
    return count


class Environment:
    """An LMDB file, open for reading. `lmdb.open` is this class.

    path: a directory that holds data.mdb, or with subdir=False the file itself; str, bytes or PathLike.
    readahead: True leaves the kernel's readahead as it is; False tells it that reads are random (POSIX_FADV_RANDOM), which is right
        for shuffled training (cold values of 100 KB: 15 times as many a second as py-lmdb, whose pages fault in one by one).
    readonly, lock, map_size (bytes), metasync, sync, map_async, mode, create, writemap, meminit, max_readers, max_dbs,
        max_spare_txns, lib_version: accepted and reported as py-lmdb does, without effect.

    Memory: a few MiB of pages, whatever the file's size. Thread-safe. Pickles as path and settings; a process that was forked or
    spawned reopens the file, at the first transaction.
    Errors: Error with the system's code if the file cannot be opened; ReadonlyError if it would have to be made;
    InvalidError if it is not an LMDB file; IncompatibleError for sorted duplicates, and other LMDB versions and machines;
    CorruptedError.
    """

    def __init__(
        self, path: Union[str, bytes, "_os.PathLike"], map_size: int = 10485760, subdir: bool = True, readonly: bool = False,
        metasync: bool = True, sync: bool = True, map_async: bool = False, mode: int = 0o755, create: bool = True,
        readahead: bool = True, writemap: bool = False, meminit: bool = True, max_readers: int = 126, max_dbs: int = 0,
        max_spare_txns: int = 0, lock: bool = True, lib_version: Optional[int] = None,
    ):  # fmt: skip
        self._path = _path_text(path)
        self._map_size, self._max_readers = _not_negative(map_size, 10485760), _not_negative(max_readers, 126)
        self._max_dbs = _not_negative(max_dbs)
        for unused in (max_spare_txns, mode):
            _not_negative(unused)
        if self._max_readers == 0:
            raise InvalidParameterError("mdb_env_set_maxreaders", InvalidParameterError.CODE)
        self.readonly = bool(readonly)
        self._flags = {
            "subdir": bool(subdir), "readonly": self.readonly, "metasync": bool(metasync), "sync": bool(sync),
            "map_async": bool(map_async), "readahead": bool(readahead), "writemap": bool(writemap and not readonly),
            "meminit": bool(meminit), "lock": bool(lock),
        }  # fmt: skip
        self._is_closed = False
        self._map: Any = None
        self._pid = 0
        self._reopen(may_refuse=create and not readonly)

    def _reopen(self, may_refuse: bool = False) -> None:
        file = _os.path.join(self._path, "data.mdb") if self._flags["subdir"] else self._path
        try:
            # O_NONBLOCK: a FIFO would wait for a writer.
            _os.close(_os.open(file, _os.O_RDONLY | _os.O_NONBLOCK))
            if _os.path.isdir(file):
                raise IsADirectoryError(21, "Is a directory")
        except FileNotFoundError as error:
            if may_refuse:
                raise refusal(f"{self._path}: no such file, and making it") from None
            raise Error(self._path, error.errno) from None
        except OSError as error:
            raise Error(self._path, error.errno) from None
        try:
            self._map = _shale.open_map(_os.fsencode(file), not self._flags["readahead"])
        except CorruptedError as error:
            raise InvalidError(error.what, InvalidError.CODE) from None
        self._pid = _os.getpid()

    def _renewed(self) -> Any:
        """The file's present state. Opened by this very process: descriptors of a parent's may be closed under it."""
        self._check_open()
        if self._pid != _os.getpid():
            self._reopen()
        current = self._map = self._map.renewed()
        return current

    def __reduce__(self):
        self._check_open()
        settings = dict(self._flags, path=self._path, map_size=self._map_size, max_readers=self._max_readers, max_dbs=self._max_dbs)
        return _unpickled, (settings,)

    def __enter__(self) -> "Environment":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Closes it: transactions, cursors and iterators of it raise Error from then on. Closing twice is not an error."""
        self._is_closed, self._map = True, None

    def _check_open(self) -> None:
        if self._is_closed:
            raise Error(CLOSED)

    def path(self) -> str:
        """The path it was opened with."""
        self._check_open()
        return self._path

    def stat(self) -> dict:
        """psize (bytes), depth, branch_pages, leaf_pages, overflow_pages, entries of the main database as it is now."""
        return _stat_of(self._renewed())

    def info(self) -> dict:
        """map_addr (0: nothing is mapped), map_size (bytes), last_pgno, last_txnid, max_readers, num_readers (0: nothing is locked)."""
        facts = self._renewed().facts()
        least = (facts["last_pgno"] + 1) * facts["psize"]
        return {
            "map_addr": 0,
            "map_size": max(self._map_size or facts["map_size"], least),
            "last_pgno": facts["last_pgno"],
            "last_txnid": facts["last_txnid"],
            "max_readers": self._max_readers,
            "num_readers": 0,
        }

    def flags(self) -> dict:
        """The settings it was opened with."""
        self._check_open()
        return dict(self._flags)

    def max_key_size(self) -> int:
        """511 bytes."""
        self._check_open()
        return _MAX_KEY_BYTES

    def max_readers(self) -> int:
        """As given to open()."""
        self._check_open()
        return self._max_readers

    def readers(self) -> str:
        """An empty table as a string: readers are not registered."""
        self._check_open()
        return "(no reader locks)\n"

    def reader_check(self) -> int:
        """0: there is no reader table, so no dead readers."""
        self._check_open()
        return 0

    def lib_version(self) -> tuple:
        """Same as version()."""
        return version()

    def set_mapsize(self, map_size: int) -> None:
        """Changes what info() says. Unlike py-lmdb's, open transactions stay."""
        self._check_open()
        self._map_size = _not_negative(map_size)

    def sync(self, force: bool = False) -> None:
        """Does nothing. Errors: ReadonlyError with readonly=True, as py-lmdb."""
        self._check_open()
        if self.readonly:
            raise ReadonlyError("mdb_env_sync", ReadonlyError.CODE)

    def copy(self, path: Any, compact: bool = False, txn: Any = None) -> None:
        """Refused: ReadonlyError."""
        self._check_open()
        raise refusal("Environment.copy()")

    def copyfd(self, fd: int, compact: bool = False, txn: Any = None) -> None:
        """Refused: ReadonlyError."""
        self._check_open()
        raise refusal("Environment.copyfd()")

    def open_db(
        self, key: Optional[bytes] = None, txn: Optional["Transaction"] = None, reverse_key: bool = False, dupsort: bool = False,
        create: bool = True, integerkey: bool = False, integerdup: bool = False, dupfixed: bool = False,
    ) -> _Database:  # fmt: skip
        """The main database, for key None.

        Errors: IncompatibleError for a named database, which is not read; DbsFullError for a name without max_dbs; NotFoundError, or
        ReadonlyError with create=True, if there is no such database.
        """
        self._check_open()
        if key is None:
            if reverse_key or dupsort or integerkey or integerdup or dupfixed:
                raise ValueError("May not set flags on the main database")
            return _Database(self)
        check_bytes(key)
        if not self._max_dbs:
            raise DbsFullError("mdb_dbi_open", DbsFullError.CODE)
        if is_empty(key):
            raise BadValsizeError("mdb_dbi_open", BadValsizeError.CODE)
        if self._renewed().cursor().seek(key):
            raise IncompatibleError(
                f"{self._path}: named database {bytes(key)!r}: shale.lmdb reads the main database only; "
                "copy it into a file of its own with the real lmdb",
                IncompatibleError.CODE,
            )
        if create:
            raise refusal(f"open_db({bytes(key)!r}): no such database, and making it")
        raise NotFoundError("mdb_dbi_open", NotFoundError.CODE)

    def dbs(self, txn: Optional["Transaction"] = None) -> list:
        """The names of the named databases, though they cannot be opened here. Walks all keys. Without max_dbs: none, as py-lmdb."""
        self._check_open()
        found, cursor = [], (txn._map if txn is not None else self._renewed()).cursor()
        has_entry = self._max_dbs > 0 and cursor.first()
        while has_entry:
            if cursor.is_database():
                found.append(cursor.key())
            has_entry = cursor.next()
        return found

    def begin(
        self, db: Optional[_Database] = None, parent: Optional["Transaction"] = None, write: bool = False, buffers: bool = False
    ) -> "Transaction":
        """A transaction: see Transaction."""
        return Transaction(self, db, parent, write, buffers)


open = Environment  # py-lmdb's name


def _unpickled(settings: dict) -> Environment:
    """An environment of another process, to be opened by the first transaction."""
    env = Environment.__new__(Environment)
    settings = dict(settings)
    env._path, env._map_size = settings.pop("path"), settings.pop("map_size")
    env._max_readers, env._max_dbs = settings.pop("max_readers"), settings.pop("max_dbs")
    env._flags, env.readonly = settings, settings["readonly"]
    env._is_closed, env._map, env._pid = False, None, 0
    return env


def _stat_of(tree: Any) -> dict:
    facts = tree.facts()
    return {name: facts[name] for name in ("psize", "depth", "branch_pages", "leaf_pages", "overflow_pages", "entries")}


class Transaction:
    """The file as it is now, for as long as this lives. `with env.begin() as txn:` ends it.

    buffers: keys and values come as memoryviews (read-only, format "B"), else as bytes. Unlike py-lmdb's, a memoryview owns its
        bytes: it stays valid after the transaction, and takes as much memory as the value.

    Nothing is locked: while another program writes to the file, the state stays whole for two of its transactions; later reads may
    raise CorruptedError, or give newer values. Thread-safe; works on in a forked child; does not pickle.
    Errors: ReadonlyError for write=True; InvalidParameterError for a parent; Error if the environment is closed.
    """

    __slots__ = ("_env", "_map", "_buffers", "__weakref__")

    def __init__(
        self, env: Environment, db: Optional[_Database] = None, parent: Optional["Transaction"] = None, write: bool = False,
        buffers: bool = False,
    ):  # fmt: skip
        env._check_open()
        check_database(db, env)
        if write:
            raise refusal("a transaction with write=True")
        if parent is not None:
            raise InvalidParameterError("Read-only transactions cannot be nested.", InvalidParameterError.CODE)
        self._env, self._buffers, self._map = env, bool(buffers), env._renewed()

    def __reduce__(self):
        raise TypeError("cannot pickle 'Transaction' object")

    def _tree(self) -> Any:
        if self._map is None or self._env._is_closed:
            raise Error(CLOSED)
        return self._map

    def __enter__(self) -> "Transaction":
        self._tree()
        return self

    def __exit__(self, *_: Any) -> None:
        self._map = None

    def get(self, key: Any, default: Any = None, db: Optional[_Database] = None) -> Any:
        """The value of `key`, or `default`. One read of a page or two, and one of the value.

        Errors: BadValsizeError for an empty key; TypeError for a key that is not bytes; IncompatibleError if it names a database;
        CorruptedError, with file and byte, for a page or value that is damaged or missing.
        """
        tree = self._map
        if tree is None or self._env._is_closed:
            raise Error(CLOSED)
        if db is not None:
            check_database(db, self._env)
        if not key:
            if key is None:
                raise TypeError("key must be given.")
            if is_empty(key):
                raise BadValsizeError("mdb_get", BadValsizeError.CODE)
        found = tree.find(key)
        if found is None:
            return default
        if found is True:
            raise IncompatibleError(
                f"{self._env._path}: {bytes(key)!r} is a named database, which shale.lmdb does not read", IncompatibleError.CODE
            )
        return memoryview(found) if self._buffers else found

    def cursor(self, db: Optional[_Database] = None) -> "Cursor":
        """A cursor: see Cursor."""
        self._tree()
        check_database(db, self._env)
        return Cursor(_Database(self._env), self)

    def stat(self, db: Optional[_Database] = None) -> dict:
        """Same as Environment.stat(), for the transaction's state."""
        tree = self._tree()
        check_database(db, self._env)
        return _stat_of(tree)

    def id(self) -> int:
        """The number of the last transaction that was written."""
        return int(self._tree().facts()["last_txnid"])

    def commit(self) -> None:
        """Ends it. Errors: Error if it has ended."""
        self._tree()
        self._map = None

    def abort(self) -> None:
        """Ends it; ending it twice is not an error."""
        self._map = None

    put, delete, replace = refused("put"), refused("delete"), refused("replace")
    pop, drop = refused("pop"), refused("drop")
