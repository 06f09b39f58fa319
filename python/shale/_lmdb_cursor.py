"""The cursors of shale.lmdb, and the handle of a database."""

from typing import Any, Iterable, Iterator, NoReturn, Optional

from shale._lmdb_errors import CLOSED, BadValsizeError, Error, IncompatibleError, InvalidParameterError, is_empty, refused


class _Database:
    """The main database of an environment: the only one that is read. Environment.open_db() gives it."""

    __slots__ = ("_env",)

    def __init__(self, env: Any):
        self._env = env

    def flags(self, *args: Any) -> dict:
        """The flags it was made with, as open_db() would take them: reverse_key, dupsort, integerkey, integerdup, dupfixed."""
        if len(args) > 1:
            raise TypeError("flags takes 0 or 1 arguments")
        facts = self._env._renewed().facts()
        return {
            "reverse_key": facts["reverse_key"],
            "dupsort": False,
            "integerkey": facts["integerkey"],
            "integerdup": False,
            "dupfixed": False,
        }


def check_database(db: Any, env: Any) -> None:
    """Errors: TypeError for an object that is not a handle; Error for a handle of another environment."""
    if db is None:
        return
    if not isinstance(db, _Database):
        raise TypeError("invalid type")
    if db._env is not env:
        raise Error("Database handle belongs to another environment.")


class _Iterator:
    """Steps a cursor and returns its entry; the first step does not move it."""

    __slots__ = ("_cursor", "_get", "_move", "_is_begun")

    def __init__(self, cursor: "Cursor", move: Any, keys: bool, values: bool):
        self._cursor, self._move, self._is_begun = cursor, move, False
        self._get = cursor.key if not values else cursor.item if keys else cursor.value

    def __iter__(self) -> "_Iterator":
        return self

    def __next__(self) -> Any:
        cursor = self._cursor
        cursor._place()
        if not cursor._has_entry or (self._is_begun and not self._move()):
            raise StopIteration
        self._is_begun = True
        return self._get()


class Cursor:
    """A place among the entries, in the order of their keys. Moves return whether they found an entry.

    Where there is none, key(), value() and item() give empty bytes, as py-lmdb's. After a move that found nothing the cursor goes
    on from where it was. May be used by several threads; a move is whole, or has not happened.
    Errors, of all moves: Error if cursor, transaction or environment are closed; CorruptedError.
    """

    __slots__ = ("_txn", "_place_or_none", "_has_entry", "_is_fresh", "__weakref__")

    def __init__(self, db: _Database, txn: Any):
        if not isinstance(db, _Database) or not hasattr(txn, "_tree"):
            raise TypeError("invalid type")
        check_database(db, txn._env)
        self._txn, self._place_or_none = txn, txn._tree().cursor()
        self._has_entry, self._is_fresh = False, True

    def __reduce__(self):
        raise TypeError("cannot pickle 'Cursor' object")

    def _place(self) -> Any:
        if self._place_or_none is None:
            raise Error(CLOSED)
        self._txn._tree()
        return self._place_or_none

    def __enter__(self) -> "Cursor":
        return self

    def __exit__(self, *_: Any) -> None:
        self._place_or_none = None

    def close(self) -> None:
        """Closes it; closing twice is not an error."""
        self._place_or_none = None

    def _given(self, value: bytes) -> Any:
        return memoryview(value) if self._txn._buffers else value

    def key(self) -> Any:
        """The key here."""
        place = self._place()
        return self._given(place.key() if self._has_entry else b"")

    def value(self) -> Any:
        """The value here. Of an entry that is a named database: LMDB's record of it."""
        place = self._place()
        return self._given(place.value() if self._has_entry else b"")

    def item(self) -> tuple:
        """(key, value) here."""
        place = self._place()
        if not self._has_entry:
            return self._given(b""), self._given(b"")
        pair = place.item()
        return (memoryview(pair[0]), memoryview(pair[1])) if self._txn._buffers else pair

    def _moved(self, has_entry: bool) -> bool:
        self._has_entry, self._is_fresh = has_entry, False
        return has_entry

    def first(self) -> bool:
        """To the first entry."""
        return self._moved(self._place().first())

    def last(self) -> bool:
        """To the last entry."""
        return self._moved(self._place().last())

    def next(self) -> bool:
        """To the next entry; from a fresh cursor, to the first."""
        return self._moved(self._place().next())

    def prev(self) -> bool:
        """To the entry before; from a fresh cursor, to the last."""
        return self._moved(self._place().prev())

    # Without duplicates each key is a group of one.
    next_dup = next_nodup = next
    prev_dup = prev_nodup = prev

    def set_key(self, key: Any, /) -> bool:
        """To the entry of exactly this key. Errors: BadValsizeError if it is empty; TypeError if it is not bytes."""
        place = self._place()
        if not key and is_empty(key):
            self._has_entry = False
            raise BadValsizeError("mdb_cursor_get", BadValsizeError.CODE)
        return self._moved(place.seek(key))

    def set_range(self, key: Any, /) -> bool:
        """To the first entry whose key is this one or follows it. Errors: TypeError."""
        return self._moved(self._place().seek_range(key))

    def get(self, key: Any, default: Any = None) -> Any:
        """set_key(), and its value or `default`."""
        self._place()
        if key is None:
            raise TypeError("key must be given.")
        return self.value() if self.set_key(key) else default

    def _needs_duplicates(self, what: str = "mdb_cursor_get") -> NoReturn:
        self._place()
        self._has_entry = False
        raise IncompatibleError(what, IncompatibleError.CODE)

    def first_dup(self) -> bool:
        """Errors: IncompatibleError, there are no duplicates; InvalidParameterError before the first move."""
        if self._is_fresh or not self._txn.stat()["entries"]:
            self._place()
            raise InvalidParameterError("mdb_cursor_get", InvalidParameterError.CODE)
        return self._needs_duplicates()

    last_dup = first_dup

    def set_key_dup(self, key: Any, value: Any) -> bool:
        """Errors: IncompatibleError, there are no duplicates."""
        return self._needs_duplicates()

    def set_range_dup(self, key: Any, value: Any) -> bool:
        """Errors: IncompatibleError, there are no duplicates."""
        return self._needs_duplicates()

    def count(self) -> int:
        """Errors: IncompatibleError, there are no duplicates."""
        self._place()
        raise IncompatibleError("mdb_cursor_count", IncompatibleError.CODE)

    def getmulti(
        self, keys: Iterable[Any], dupdata: bool = False, dupfixed_bytes: Optional[int] = None, keyfixed: bool = False,
        values: bool = True,
    ) -> Any:  # fmt: skip
        """The (key, value) of each of `keys` that exists, or the keys alone with values=False.

        dupdata: each run continues to the last entry, as py-lmdb's does without duplicates. Errors: IncompatibleError for dupfixed_bytes.
        """
        if dupfixed_bytes and dupfixed_bytes < 0:
            raise OverflowError("Integer argument must be >= 0")
        if (dupfixed_bytes or keyfixed) and not dupdata:
            raise TypeError("dupdata is required for dupfixed_bytes/keyfixed.")
        if keyfixed and not dupfixed_bytes:
            raise TypeError("dupfixed_bytes is required for keyfixed.")
        if not values and dupdata:
            raise TypeError("values=False is incompatible with dupdata.")
        self._place()
        found = []
        for key in keys:
            has_entry = self.set_key(key)
            if has_entry and dupfixed_bytes:
                self._needs_duplicates()
            while has_entry:
                found.append(self.item() if values else self.key())
                has_entry = dupdata and self.next_dup()
        return memoryview(bytearray()) if keyfixed else found

    def _iterator(self, begin: Any, move: Any, keys: bool, values: bool) -> Iterator:
        self._place()
        if begin is not None and not self._has_entry:
            begin()
        return _Iterator(self, move, keys, values)

    def iternext(self, keys: bool = True, values: bool = True) -> Iterator:
        """From here, or from the first entry, to the last: (key, value), or one of them."""
        return self._iterator(self.first, self.next, keys, values)

    __iter__ = iternext

    def iterprev(self, keys: bool = True, values: bool = True) -> Iterator:
        """From here, or from the last entry, back to the first."""
        return self._iterator(self.last, self.prev, keys, values)

    def iternext_dup(self, keys: bool = False, values: bool = True) -> Iterator:
        """From here to the last entry; nothing if the cursor is not at an entry."""
        return self._iterator(None, self.next_dup, keys, values)

    def iterprev_dup(self, keys: bool = False, values: bool = True) -> Iterator:
        """From here back to the first entry; nothing if the cursor is not at an entry."""
        return self._iterator(None, self.prev_dup, keys, values)

    def iternext_nodup(self, keys: bool = True, values: bool = False) -> Iterator:
        """Same as iternext(), but keys alone by default."""
        return self._iterator(self.first, self.next_nodup, keys, values)

    def iterprev_nodup(self, keys: bool = True, values: bool = False) -> Iterator:
        """Same as iterprev(), but keys alone by default."""
        return self._iterator(self.last, self.prev_nodup, keys, values)

    def _iter_from(self, k: Any, reverse: bool) -> Iterator:
        if reverse and is_empty(k):
            self._place()
            raise BadValsizeError("mdb_cursor_get", BadValsizeError.CODE)
        found = self.first() if not k and not reverse else self.set_range(k)
        if not reverse:
            return self.iternext() if found else iter(())
        if not found:
            self.last()
        return self.iterprev()

    put, putmulti, replace = refused("put"), refused("putmulti"), refused("replace")
    delete, pop = refused("delete"), refused("pop")
