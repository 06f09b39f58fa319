"""Map-style access to any dataset that shale can read."""

from __future__ import annotations

import functools
import io
import operator
import os
from typing import Any, Callable, Iterable, List, Mapping, Optional, Union

from shale import _shale
from shale._arguments import field_names, flag, one_of, path_bytes, text
from shale._samples import SampleSequence
from shale.errors import ContentError, NotFoundError, UnsupportedError, UsageError

Decode = Union[None, str, Mapping[str, Optional[str]]]

# What an instance has looked up, and another process looks up by itself.
_CACHED = ("schema", "classes", "class_to_idx")

# How each way of decoding has the bytes read: as they are, or as pixels in this order.
_PIXEL_ORDERS = {None: "", "pil": "", "rgb8": "hwc", "torchrgb8": "chw"}


class Dataset(SampleSequence):
    """The samples of a dataset, by number, in constant memory.

    ``path`` is a dataset that ``shale convert`` wrote, or an LMDB, HDF5, TFRecord or .npy file of any
    other tool (for an LMDB also its directory). Nothing of it is mapped into memory, locked or
    created: samples are read by ``pread``, at the places that the index gives, or that follow from
    the number of the row where all samples have one size (arrays, which need no index).

    ``ds[i]`` is a dictionary with one entry per field, which ``torch.utils.data.default_collate`` takes:

    ========= =======================================================================
    kind      becomes
    ========= =======================================================================
    key       ``str`` (bytes that are not UTF-8 are escaped with ``surrogateescape``)
    bytes     ``bytes``, or what ``decode`` makes of an image
    text      ``str``
    integer   ``int`` (0 and 1 for bool)
    real      ``float``
    tensor    ``numpy.ndarray`` of the schema's dtype and shape, writable, C-contiguous
    list      list of ``bytes``
    ========= =======================================================================

    A value that a sample of a foreign file lacks is None.

    Args:
        path: directory or file.
        fields: names of the fields to read, or a single name; ``"key"`` counts as one. Default: all.
        decode: what the images in fields of kind bytes become. A mapping sets it for each field.
            ``"pil"``: PIL.Image in mode RGB. ``"rgb8"``: uint8 array (H, W, 3).
            ``"torchrgb8"``: uint8 torch tensor (3, H, W). JPEGs are decoded by libjpeg-turbo with
            the GIL released, to the pixels of ``Image.open(b).convert("RGB")``; other types by Pillow.
            EXIF orientation is not applied.
        transform: called with each dictionary; what it returns is the sample.
        verify: ``"auto"``: what has checksums is verified: the index of a shard by its hash when it is
            first touched, every key and value by its crc32c. Files of other tools without an index,
            or with one that ``shale index`` made without ``--crc``, have no checksums of values;
            neither have arrays. True: everything must be verified; for arrays the hash of every block
            of 1 MiB that a value lies in, which is read whole. False: nothing is verified. What is
            wrong is read once more, past the page cache, before DamagedError is raised.
        cache: what reading leaves in the page cache. ``"keep"``: all of it. ``"drop"``: nothing;
            what was read is dropped. ``"direct"``: reads bypass the cache (same as ``"drop"`` where
            the file system refuses). Up to 64 MiB of the indexes stay in any case.
        index_dir: for a file of another tool, the directory of its index; if it is missing there, or the
            file has changed since, it is built. Default: an index beside the file is used;
            without one, the file is indexed in memory.
        parse: ``"msgpack"`` parses the values of an LMDB of another tool as msgpack maps, whose
            entries become fields.

    A dataset that is replaced or removed, or a file that is written to, while it is open raises
    MismatchError at the next read.

    Processes: an instance pickles to its arguments (under 4 KiB besides ``transform``). Every process
    opens its own files when it reads, also after a fork. At most 64 descriptors are open at a time
    (or those of one shard that has more than 55 files).

    Raises:
        shale.errors.Error: the dataset cannot be opened; see its subclasses.
    """

    def __init__(
        self,
        path: Union[str, bytes, os.PathLike],
        fields: Union[None, str, Iterable[str]] = None,
        decode: Decode = None,
        transform: Optional[Callable[[dict], Any]] = None,
        verify: Union[bool, str] = "auto",
        cache: str = "keep",
        index_dir: Union[None, str, bytes, os.PathLike] = None,
        *,
        parse: Optional[str] = None,
    ) -> None:
        if transform is not None and not callable(transform):
            raise UsageError(f"transform is {transform!r}, expected a function of a sample")
        self.path = os.path.abspath(os.fsdecode(path_bytes(path, "path")))
        self.index_dir = None if index_dir is None else os.path.abspath(os.fsdecode(path_bytes(index_dir, "index_dir")))
        self.fields = None if fields is None else tuple(field_names(fields))
        self.decode = dict(decode) if isinstance(decode, Mapping) else decode
        self.transform = transform
        self.verify = _verify(verify)
        self.cache = one_of(cache, "cache", ("keep", "drop", "direct"))
        self.parse = one_of(parse, "parse", (None, "msgpack"))
        self._opened: Optional[_shale.Reader] = None
        self._finishers: list = []
        self._reader()

    # --- opening

    def _reader(self) -> _shale.Reader:
        if self._opened is None:
            reader = _shale.Reader(
                os.fsencode(self.path),
                os.fsencode(self.index_dir or ""),
                self.cache,
                None if isinstance(self.verify, str) else self.verify,
                self.parse == "msgpack",
            )
            self._select(reader)
            self._opened = reader
        return self._opened

    def _select(self, reader: _shale.Reader) -> None:
        kinds = {"key": "text", **{field["name"]: field["kind"] for field in reader.schema}}
        names = tuple(kinds) if self.fields is None else self.fields
        for name in names:
            if name not in kinds:
                raise NotFoundError(f"{self.path}: no field {name!r}; the fields are {', '.join(kinds)}")
        decode = self.decode
        if not isinstance(decode, dict):
            one_of(decode, "decode", tuple(_PIXEL_ORDERS))
            decode = {name: decode for name in names if kinds[name] == "bytes"}
        for name, way in decode.items():
            one_of(way, "decode", tuple(_PIXEL_ORDERS))
            if name not in names or (way is not None and kinds[name] != "bytes"):
                raise UsageError(f"decode names {name!r}, which is not a field of kind bytes that is read")
        ways = {name: decode.get(name) for name in names}
        reader.select(list(names), [_PIXEL_ORDERS[way] for way in ways.values()])
        self._finishers = [
            (name, _FINISHERS[way]) for name, way in ways.items() if way is not None
        ]

    def __getstate__(self) -> Any:
        kept = {name: value for name, value in self.__dict__.items() if name not in _CACHED}
        kept.update(_opened=None, _finishers=[])
        slots = self._slots()
        return (kept, slots) if slots else kept

    # --- samples

    def __len__(self) -> int:
        return len(self._reader())

    def _read(self, indices: Iterable[int]) -> list:
        return self._read_through(self.transform, indices)

    def _read_through(self, transform: Optional[Callable[[dict], Any]], indices: Iterable[int]) -> list:
        reader = self._opened or self._reader()
        rows = _rows(indices, len(reader))
        samples = reader.read(rows)
        if not self._finishers and transform is None:
            return samples
        # One after the other: what was just decoded is still in the caches when it is transformed, and only one is held.
        for position, sample in enumerate(samples):
            for name, finish in self._finishers:
                try:
                    sample[name] = finish(sample[name])
                except Exception as error:
                    raise self._content_error(rows[position], name, error) from error
            if transform is not None:
                samples[position] = transform(sample)
        return samples

    def find(self, key: Union[str, bytes]) -> int:
        """The row of the first sample with this key.

        The first call reads the key hashes of the whole index (8 bytes per sample). The key of a row
        of an array is its number, and nothing is read.

        Raises:
            KeyError: no sample has this key.
        """
        row = None
        if isinstance(key, bytes):
            row = self._reader().find(key)
        elif isinstance(key, str):
            try:
                row = self._reader().find(key.encode("utf-8", "surrogateescape"))
            except UnicodeEncodeError:
                pass  # no key is decoded to such a string
        if row is None:
            raise KeyError(key)
        return row

    def column(self, name: str) -> Any:
        """One column of the index as a numpy array of ``len(self)`` elements; payload is not read.

        ``name`` is a field of kind integer (int64) or real (float64), or any other column that
        the index has: ``"image.length"`` (uint64), ``"key_hash"`` (uint64) ...

        For arrays, which have no index, it is a field of kind integer or real, read from the shards
        in the dtype that it is stored in (``schema[name]["dtype"]``).

        Raises:
            shale.errors.NotFoundError: no such column; the message lists the columns.
        """
        return self._reader().column(text(name, "name"))

    # --- what the dataset is

    @functools.cached_property
    def schema(self) -> dict:
        """The fields by name: ``{"image": {"kind": "bytes"}, "x": {"kind": "tensor", "dtype": "<f4",
        "shape": (3, 4)}}``. For arrays, integers and reals also have a dtype and the shape ()."""
        return {
            field["name"]: {name: field[name] for name in field if name != "name"}
            for field in self._reader().schema
        }

    @functools.cached_property
    def classes(self) -> list:
        """Names of the classes, by label. Empty if the dataset has none."""
        return self._reader().classes

    @functools.cached_property
    def class_to_idx(self) -> dict:
        """Label of each class, by name."""
        return {name: label for label, name in enumerate(self.classes)}

    def __repr__(self) -> str:
        return f"shale.Dataset({self.path!r}: {len(self)} samples, {self._reader().format})"

    def _content_error(self, row: int, field: str, error: Exception) -> ContentError:
        reader = self._reader()
        key = reader.key(row)
        made = ContentError(
            f"{self.path}: sample {row} '{key}': field '{field}' does not decode: {error}"
        )
        made.sample, made.key, made.shard = row, key, reader.shard_name(row)
        return made


def _verify(value: Any) -> Union[bool, str]:
    if isinstance(value, str) and value == "auto":
        return value
    try:
        return flag(value, "verify")
    except UsageError:
        raise UsageError(f"verify is {value!r}, expected 'auto', True or False") from None


def _rows(indices: Iterable[int], size: int) -> List[int]:
    rows = []
    for index in indices:
        row = operator.index(index)
        if not -size <= row < size:
            raise IndexError(f"sample {row} of {size}")
        rows.append(row + size if row < 0 else row)
    return rows


def _pillow():
    try:
        from PIL import Image
    except ImportError:
        raise UnsupportedError("is not a JPEG, and Pillow, which decodes other types, is not installed") from None
    return Image


def _to_pil(value: Optional[bytes]) -> Any:
    """(H, W) image in mode RGB."""
    if value is None:
        return None
    with _pillow().open(io.BytesIO(value)) as image:
        return image.convert("RGB")


def _to_rgb8(value: Any) -> Any:
    """(H, W, 3) uint8. A JPEG arrives decoded, any other image as bytes."""
    if not isinstance(value, bytes):
        return value
    import numpy

    return numpy.array(_to_pil(value))


def _to_torchrgb8(value: Any) -> Any:
    """(3, H, W) uint8 tensor."""
    if value is None:
        return None
    import numpy
    import torch

    if isinstance(value, bytes):
        value = numpy.ascontiguousarray(_to_rgb8(value).transpose(2, 0, 1))
    return torch.from_numpy(value)


_FINISHERS = {"pil": _to_pil, "rgb8": _to_rgb8, "torchrgb8": _to_torchrgb8}
