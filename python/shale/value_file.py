"""One value of a dataset as a file that is read piece by piece."""

from __future__ import annotations

import io
import weakref
from typing import Any, Callable, Optional, Protocol, Tuple

from shale import _shale
from shale.errors import MismatchError, UsageError

_BUFFER_BYTES = 128 << 10

# Of files and lists that came out of a pickle: those of one dataset share what they have open.
_reopened: weakref.WeakValueDictionary = weakref.WeakValueDictionary()


class Origin(Protocol):
    """A dataset, as the files and lists see it that read of it later."""

    path: str
    _is_closed: bool

    def _reader(self) -> _shale.Reader: ...
    def _opener(self) -> tuple: ...  # its class, and the arguments that `reopened` takes
    def _finished(self, row: int, field: str, finish: Callable[[Any], Any], value: Any) -> Any: ...
    def _content_error(self, row: int, field: str, error: Exception, what: str = ...) -> Exception: ...


class _RawValue(io.RawIOBase):
    """What a ValueFile buffers: a position in a value."""

    def __init__(self, dataset: Origin, row: int, field: str, value: _shale.Value) -> None:
        self.dataset, self.row, self.field, self.value = dataset, row, field, value
        self.position = 0

    @property
    def name(self) -> str:
        return self.dataset._reader().key(self.row)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._checkOpen()
        bases = {io.SEEK_SET: 0, io.SEEK_CUR: self.position, io.SEEK_END: self.value.size}
        if whence not in bases:
            raise UsageError(f"whence is {whence!r}, expected 0, 1 or 2")
        position = bases[whence] + offset
        if position < 0:
            raise UsageError(f"seek to byte {position} of a value")
        self.position = position
        return position

    def tell(self) -> int:
        self._checkOpen()
        return self.position

    def readinto(self, buffer: Any) -> int:
        self._checkOpen()
        self.dataset._reader()  # raises if the dataset was closed
        into = memoryview(buffer).cast("B")
        count = max(0, min(len(into), self.value.size - self.position))
        into[:count] = self.value.read(self.position, count)
        self.position += count
        return count

    def _checkOpen(self) -> None:
        if self.closed:
            raise UsageError("the file of the value was closed")


class ValueFile(io.BufferedReader):
    """One value of kind bytes, such as a video, as a read-only binary file: what ``Dataset.open`` returns.

    It reads what is asked for, and some 128 KiB ahead, by ``pread`` of the file of the shard; nothing is copied,
    mapped or extracted. torchcodec, PyAV, soundfile, ``wave`` and whatever else takes a binary file take it.
    ``seek``, ``tell``, ``read``, ``readinto`` and ``close`` are those of any file; it is a context manager. There is no
    ``fileno``, because the descriptor is that of the whole shard.

    It pickles to the arguments of its dataset, the row, the field and the position, and is opened again where it is
    unpickled, in a DataLoader worker for instance. After a fork parent and child read independently.

    What is proved: the place of the value, by the hash of the index. The crc32c of a value is that of all its bytes, so it
    proves nothing of a piece: with ``verify="auto"`` pieces are not verified (``ds[row]`` does it). With ``verify=True`` each
    block of 1 MiB that a piece lies in is read whole and compared with its hash.

    Attributes:
        name: the key of the sample, ``str``.
        size: bytes of the value.

    Raises:
        UsageError: (a ValueError) it is read after it, or its dataset, was closed.
        MismatchError: the dataset was replaced, or is another one where it was unpickled.
        DamagedError: the file ends before the value does, or, with ``verify=True``, a block is wrong.
    """

    raw: _RawValue

    def __init__(self, raw: _RawValue) -> None:
        super().__init__(raw, _BUFFER_BYTES)

    @property
    def size(self) -> int:
        """Bytes of the value."""
        return self.raw.value.size

    def __repr__(self) -> str:
        raw = self.raw
        return f"<shale.ValueFile: field {raw.field!r} of sample {raw.row} of {raw.dataset.path}, {raw.value.size} bytes>"

    def __reduce_ex__(self, protocol: Any) -> Tuple:
        raw = self.raw
        return _reopen, (raw.dataset._opener(), raw.row, raw.field, raw.value.place, self.tell())


def value_file(dataset: Origin, row: int, field: str, value: _shale.Value) -> ValueFile:
    return ValueFile(_RawValue(dataset, row, field, value))


def reopened(kind: Callable[..., Origin], arguments: tuple) -> Origin:
    """The dataset of what came out of a pickle, which all of them share."""
    dataset: Optional[Origin] = _reopened.get(arguments)
    if dataset is None or dataset._is_closed:
        path, verify, cache, index_dir, parse, database, axis, raw, raw_offset = arguments
        how = {"index_dir": index_dir, "parse": parse, "database": database, "axis": axis, "raw": raw, "raw_offset": raw_offset}
        dataset = _reopened[arguments] = kind(path, (), verify=verify, cache=cache, **how)
    return dataset


def _reopen(opener: tuple, row: int, field: str, place: Tuple[int, int], position: int) -> ValueFile:
    dataset = reopened(*opener)
    reader = dataset._reader()
    value = reader.values([row], field)[0] if row < len(reader) else None
    if value is None or value.place != place:
        raise MismatchError(f"{dataset.path}: sample {row} is not where it was: the dataset is another one than the file was opened in")
    file = value_file(dataset, row, field, value)
    file.seek(position)
    return file
