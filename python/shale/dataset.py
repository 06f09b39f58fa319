"""Map-style access to any dataset that shale can read."""

from __future__ import annotations

import functools
import operator
import os
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from shale import _shale
from shale._arguments import field_names, flag, one_of, path_bytes, text
from shale._decoding import FINISHERS, PIXEL_ORDERS, WAYS, decode_list, decoder_of_one, tv_tensors
from shale._hub import HubSamples
from shale._leading_view import LeadingView, leading_view
from shale._places import JoinedPath, place_of, words_of_place
from shale._raw_dtypes import as_array, as_numbers, dtype_of, name_of
from shale._results import DatasetInfo
from shale._samples import chosen_rows
from shale._splits import listed, path_of_split, splits_in
from shale._words import Translation, axes_text, choices, raw_arguments
from shale.commands import info
from shale.errors import ContentError, Error, NotFoundError, UnsupportedError, UsageError
from shale.lists import Chosen, Select, read_chosen
from shale.value_file import ValueFile, value_file

if TYPE_CHECKING:
    from torch.utils.data import Dataset as TorchDataset

    class _Base(HubSamples, TorchDataset[Any]):
        """For type checkers a Dataset is one of torch's, which DataLoader asks for. torch itself is not imported."""
else:
    _Base = HubSamples

Decode = Union[None, str, Mapping[str, Optional[str]]]

# What an instance has looked up, and another process looks up by itself.
_CACHED = ("schema", "types", "classes", "class_to_idx", "info")

_ROWS_AT_ONCE = 1024


class Dataset(_Base):
    """The samples of a dataset, by number, in constant memory.

    ``path`` is a dataset that ``shale convert`` wrote, or an LMDB, HDF5, TFRecord or .npy file of any
    other tool (for an LMDB also its directory). Nothing of it is mapped into memory, locked or
    created: samples are read by ``pread``, at the places that the index gives, or that follow from the number of the row (arrays).

    ``ds[i]`` is a dictionary with one entry per field, which ``torch.utils.data.default_collate`` takes:

    ========= =======================================================================
    kind      becomes
    ========= =======================================================================
    key       ``str`` (bytes that are not UTF-8 are escaped with ``surrogateescape``)
    bytes     ``bytes``, or what ``decode`` makes of an image
    text      ``str``; JSON is the text, for ``json.loads``
    integer   ``int`` (0 and 1 for bool)
    real      ``float``
    tensor    ``numpy.ndarray`` of the schema's dtype and shape, writable, C-contiguous; where
              sides of the shape are free, each sample's has its own
    list      list of ``bytes`` or ``str``, or what ``decode`` makes of a list of images; see
              also ``select`` and ``lazy``
    ========= =======================================================================

    A value that a sample lacks is None: of an optional field, or in a file of another tool.

    ``ds[2:5]``, ``ds[[7, 1]]`` and ``ds[mask]`` are lists of samples. A subset that reads nothing is a dataset with ``indices``.

    Attributes:
        path: as given, absolute, with the split.
        fields: names of the fields that are read, a tuple.
        types: what each field of the dataset holds, by name: ``"bytes"``, ``"float32 (?, 4)"``, ``"list of text"``, ``"text?"`` where
            samples may lack it. ``Writer(schema=...)`` takes them.

    Args:
        path: directory or file. For a directory that holds one dataset for each split: with ``split``. Several files that are one dataset: a
            list, a folder, a pattern, ``"@files.txt"``. Inputs that are joined: a mapping, ``{"x": "x.h5", "y": "y.h5"}``.
        on, partners: how they are joined; see ``convert``.
        fields: names of the fields to read, or a single name; ``"key"`` counts as one. Default: all.
        decode: what the images in fields of kind bytes become, or, if none is read, in fields of kind list. A mapping sets it for each
            field. A list of images becomes one array or tensor with an axis more in front: (T, H, W, 3) for ``"rgb8"``, (T, 3, H, W) for
            ``"torchrgb8"``; a ``tv_tensors.Video`` for ``"tv"``; a list for ``"pil"``.
            ``"pil"``: PIL.Image in mode RGB. ``"rgb8"``: uint8 array (H, W, 3).
            ``"gray8"``: uint8 array (H, W), the pixels of ``Image.open(b).convert("L")``.
            ``"unchanged"``: the array of ``Image.open(b)``: (H, W) or (H, W, C), uint16 for 16 bits a channel, the
            numbers of the colors for a palette, bool for one bit.
            ``"torchrgb8"``: uint8 torch tensor (3, H, W). ``"tv"``: the same as ``torchvision.tv_tensors.Image``.
            ``"tv_mask"``: a ``tv_tensors.Mask`` of the unchanged pixels, (H, W), or (C, H, W); transforms of
            torchvision's v2 move it along with the image, and leave its values alone.
            ``"file"``: a ``ValueFile``, as ``open`` returns it: nothing of the value is read yet (videos, sound).
            For RGB, JPEGs are decoded by libjpeg-turbo with the GIL released, to the pixels of
            ``Image.open(b).convert("RGB")``; everything else by Pillow. EXIF orientation is not applied.
        transform: called with each dictionary, or with each tuple of ``as_tuple``; what it returns is the sample.
        verify: ``"auto"``: what has checksums is verified: the index of a shard by its hash when it is
            first touched, every key and value by its crc32c. Files of other tools without an index,
            or with one that ``shale index`` made without ``--crc``, have no checksums of values;
            neither have arrays. True: everything must be verified; for arrays the hash of every block
            of 1 MiB that a value lies in, which is read whole. False: nothing is verified. What is
            wrong is read once more, past the page cache, before DamagedError is raised.
        cache: what reading leaves in the page cache. ``"keep"``: all of it. ``"drop"``: nothing;
            what was read is dropped. ``"direct"``: reads bypass the cache (same as ``"drop"`` where the file system refuses). Up to 64 MiB
            of the indexes stay in any case.
        index_dir: for files of other tools, the directory of their index; if it is missing there, or a file has changed since, it is
            built; a file that is gone from a set is an error. Default: an index beside the file is used; without one, the file is indexed in memory.
        parse, database, axis: how a file of another tool is read: ``"plain"``, ``"msgpack"``, a layout, or patterns of keys; named databases of
            an LMDB; ``{"images": -1}``. See ``convert``. Default: what the index says, else what the file is; the first axis.
        raw, raw_offset: what files of numbers without a header hold, ``"uint16,400"`` for rows of 400, and the bytes before the first row.
        split: name of a split, such as ``"train"``: the dataset is ``path/split``, or the files of ``path`` that are of it, such as those of a
            repository of the Hub (docs/parquet.md).
        indices: rows of the dataset, in any order, or a boolean mask: the samples are these (subsets, folds). Kept as 8 bytes
            each, or as a range. ``find``, ``column`` and ``len`` follow it.
        select: which elements of lists are read: ``select={"frames": f}`` asks ``f(count, rng)`` for each sample of a batch, before
            anything of it is read, for the numbers of elements, in any order; only these are read, all of a batch together. ``rng`` is
            Python's ``random`` module, which a DataLoader seeds in each worker (``torch.manual_seed`` repeats a run). ``shale.clip`` makes such
            functions. A tuple of names, ``("rgb", "flow")``, gives all of them the same numbers, chosen for the shortest. ``transform`` is called once
            for each sample, with all of the clip.
        lazy: names of lists that become a ``LazyList``: nothing of them is read before it is asked for.
        as_tuple: names of fields: a sample is a tuple of their values instead of a dictionary. Only these are read unless ``fields`` names more.

    A dataset that is replaced or removed, or a file that is written to, while it is open raises MismatchError at the next read.

    Processes: an instance pickles to its arguments (under 4 KiB besides ``transform``). Every process
    opens its own files when it reads, also after a fork, and finds the samples that there were when the instance
    was made, even if the dataset was appended to since. At most 64 descriptors are open at a time.

    Raises:
        shale.errors.Error: the dataset cannot be opened; see its subclasses.
    """

    def __init__(
        self,
        path: Any,
        fields: Union[None, str, Iterable[str]] = None,
        decode: Decode = None,
        transform: Optional[Callable[[dict], Any]] = None,
        verify: Union[bool, str] = "auto",
        cache: str = "keep",
        index_dir: Union[None, str, bytes, os.PathLike] = None,
        *,
        parse: Optional[str] = None,
        database: Union[None, str, Iterable[str]] = None,
        split: Optional[str] = None,
        indices: Union[None, Sequence[int], Any] = None,
        as_tuple: Union[None, Sequence[str]] = None,
        select: Optional[Select] = None,
        lazy: Union[None, str, Iterable[str]] = None,
        on: Optional[str] = None,
        partners: Optional[str] = None,
        axis: Union[None, str, Mapping[str, int]] = None,
        raw: Any = None,
        raw_offset: Optional[int] = None,
    ) -> None:
        if transform is not None and not callable(transform):
            raise UsageError(f"transform is {transform!r}, expected a function of a sample")
        root = place_of(path, on, partners)
        self.path = root if split is None else path_of_split(root, split)
        self.index_dir = None if index_dir is None else os.path.abspath(os.fsdecode(path_bytes(index_dir, "index_dir")))
        if isinstance(as_tuple, str):
            raise UsageError(f"as_tuple is {as_tuple!r}, expected names of fields in a tuple or list")
        self.as_tuple = None if as_tuple is None else tuple(field_names(as_tuple, "as_tuple"))
        self.fields: tuple = () if fields is None else tuple(field_names(fields))
        self._reads_all = fields is None and as_tuple is None
        if fields is None and self.as_tuple is not None:
            self.fields = self.as_tuple
        for name in self.as_tuple or ():
            if name not in self.fields:
                raise UsageError(f"as_tuple names {name!r}, which fields leaves out")
        self.decode = dict(decode) if isinstance(decode, Mapping) else decode
        self.transform = transform
        self.verify = _verify(verify)
        self.cache = one_of(cache, "cache", ("keep", "drop", "direct"))
        is_pattern = isinstance(parse, str) and "=" in parse
        self.parse = parse if is_pattern else one_of(parse, "parse", (None, *choices("info", "parse")))
        self.database = None if database is None else ",".join(field_names(database, "database"))
        self.axis = None if axis is None else axes_text(axis, "axis")
        self.raw, self.raw_offset = raw_arguments(raw, raw_offset)
        self._chosen = Chosen(lazy, select)
        self.indices: Any = None
        self._opened: Optional[_shale.Reader] = None
        self._opened_before = ""
        self._is_closed = False
        self._finishers: list = []
        self._files: list = []
        self._ways: dict = {}
        self._texts: set = set()  # lists of text
        size = len(self._reader())
        if indices is not None:
            self.indices = chosen_rows(indices, size)

    # --- opening

    def _reader(self) -> _shale.Reader:
        if self._opened is None:
            reader = self._open()
            self._select(reader)
            self._opened = reader
        return self._opened

    def _open(self) -> _shale.Reader:
        if self._is_closed:
            raise UsageError(f"{self.path}: the dataset was closed")
        words, index_dir = words_of_place(self.path), os.fsencode(self.index_dir or "")
        proof = None if isinstance(self.verify, str) else self.verify
        join = (self.path.on, self.path.partners) if isinstance(self.path, JoinedPath) else (None, None)
        try:
            reader = _shale.Reader(words, index_dir, self.cache, proof, self.parse, self.database, self._opened_before, *join, self.axis, self.raw, self.raw_offset)
        except Error as error:
            Translation([b"info", *words, index_dir]).apply_to(error)
            splits = splits_in(self.path)
            if splits and not isinstance(error, UsageError):
                raise UsageError(f"{self.path} holds {listed(splits)}: pass split={splits[0]!r}") from error
            raise
        self._opened_before = self._opened_before or reader.self_hash
        return reader

    def close(self) -> None:
        """Closes the files. Reading raises UsageError from then on. A dataset that is never closed is closed with its last reference."""
        self._opened = None
        self._is_closed = True

    def __enter__(self) -> Dataset:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def _select(self, reader: _shale.Reader) -> None:
        kinds = {"key": "text", **{field["name"]: field["kind"] for field in reader.schema}}
        texts = {field["name"] for field in reader.schema if field.get("elements") == "text"}
        names = tuple(kinds) if self._reads_all else self.fields
        for name in names:
            if name not in kinds:
                raise NotFoundError(f"{self.path}: no field {name!r}; the fields are {', '.join(kinds)}")
        decode = self.decode
        if not isinstance(decode, dict):
            one_of(decode, "decode", WAYS)
            kind = "bytes" if decode == "file" or "bytes" in (kinds[name] for name in names) else "list"
            decode = {name: decode for name in names if kinds[name] == kind and name not in texts}
        for name, way in decode.items():
            one_of(way, "decode", WAYS)
            takes = (("bytes",) if way == "file" else ("bytes", "list")) if name not in texts else ()
            if name not in names or (way is not None and kinds[name] not in takes):
                raise UsageError(f"decode names {name!r}, which is not a field of kind bytes{'' if way == 'file' else ' or list'} that is read")
        self._chosen.check(kinds, names)
        self.fields = names
        ways = self._ways = {name: decode.get(name) for name in names}
        self._texts = texts
        if not {"tv", "tv_mask"}.isdisjoint(map(str, ways.values())):
            tv_tensors()  # now, not with the first image
        self._files = [name for name, way in ways.items() if way == "file"]
        read = self._select_whole(reader, (*self._files, *self._chosen.names))
        decoded = [(name, way) for name in read for way in [ways[name]] if way is not None]
        self._finishers = [(name, functools.partial(decode_list, way) if kinds[name] == "list" else FINISHERS[way]) for name, way in decoded]

    def _select_whole(self, reader: _shale.Reader, others: Sequence[str]) -> List[str]:
        """Has the reader read whole values of all fields but the others; returns their names."""
        lists = {field["name"] for field in reader.schema if field["kind"] == "list"}
        names = [name for name in self.fields if name not in others]
        reader.select(names, ["" if name in lists else PIXEL_ORDERS.get(self._ways[name], "") for name in names])
        return names

    def _opener(self) -> tuple:
        return Dataset, (self.path, self.verify, self.cache, self.index_dir, self.parse, self.database, self.axis, self.raw, self.raw_offset)

    def __getstate__(self) -> Any:
        kept = {name: value for name, value in self.__dict__.items() if name not in _CACHED}
        kept.update(_opened=None, _finishers=[])
        slots = self._slots()
        return (kept, slots) if slots else kept

    # --- samples

    def __len__(self) -> int:
        return len(self._reader()) if self.indices is None else len(self.indices)

    def _read(self, indices: Iterable[int]) -> list:
        lead = self._lead()
        return self._read_through(self.transform if lead is None else lead.rest_of, indices, lead=lead)

    def _lead(self) -> Optional[LeadingView]:
        """What the transform shows of the images, if that is known before they are decoded."""
        if self.transform is None:
            return None
        self._reader()
        kinds = {name: self.schema.get(name, {}).get("kind") for name in self.fields}
        if self._files or self._chosen.names or any(way and kinds[name] == "list" for name, way in self._ways.items()):
            return None
        return leading_view(self.transform, self._ways, takes_images=False, has_arrays="tensor" in kinds.values())

    def read(self, index: int, select: Mapping[str, Any]) -> Any:
        """One sample, with the elements of its lists that ``select`` names: ``ds.read(7, {"frames": [10, 14, 18]})``.

        The numbers may be a slice, any sequence, or a mask; negative ones count from the end. Only these elements are read. Everything else is as
        in ``ds[index]``.

        Raises:
            IndexError: no such sample, or element.
            shale.errors.UsageError: a name is not that of a list that is read.
        """
        if not isinstance(select, Mapping):
            raise UsageError(f"select is {select!r}, expected a mapping of names of fields to numbers")
        lists = Chosen(list(select), None)
        lists.check({name: field["kind"] for name, field in self.schema.items()}, self.fields)
        return self._read_through(self.transform, [index], select)[0]

    def _read_through(
        self,
        transform: Optional[Callable[[dict], Any]],
        indices: Iterable[int],
        given: Optional[Mapping] = None,
        into: Optional[Dict[str, List[Any]]] = None,
        lead: Optional[LeadingView] = None,
    ) -> list:
        reader = (self._opened or self._reader()) if lead is None else self._raw_reader()
        rows = self._rows(indices)
        if given:
            reader = reader.sharing()
            self._select_whole(reader, (*self._files, *self._chosen.names, *given))
        samples: list = reader.read(rows, into)
        if self._files or self._chosen.names or given:
            samples = self._with_others(reader, rows, samples, given)
        if not self._finishers and self.as_tuple is None and transform is None:
            return samples
        finishers = self._finishers if not given else [(name, finish) for name, finish in self._finishers if name not in given]
        # One after the other: what was just decoded is still in the caches when it is transformed, and only one is held.
        for position, sample in enumerate(samples):
            samples[position] = self._made(rows[position], sample, finishers, lead, transform)
        return samples

    def _made(self, row: int, sample: dict, finishers: Iterable[tuple], lead: Optional[LeadingView], transform: Any) -> Any:
        """A sample of its values as they were read: images decoded, or what a transform shows of them, and transformed."""
        if lead is None:
            for name, finish in finishers:
                if sample[name] is not None:
                    sample[name] = self._finished(row, name, finish, sample[name])
        else:
            sample[lead.field], drawn = self._finished(row, lead.field, lead.load, sample[lead.field])
            for name in lead.masks:
                if sample[name] is not None:
                    sample[name] = self._finished(row, name, lambda value: lead.load_mask(value, drawn), sample[name])
        made = sample if self.as_tuple is None else tuple([sample[name] for name in self.as_tuple])
        return made if transform is None else transform(made)

    def _read_into(self, indices: Iterable[int], into: Dict[str, List[Any]]) -> list:
        """Samples, for a loader that has the memory of their tensors: by name of a field an array for each."""
        return self._read_through(self.transform, indices, into=into)

    # --- for a loader that holds samples for a while: as bytes, until they are wanted

    def _raw_reader(self) -> _shale.Reader:
        """Of all values as they are stored. Errors: UsageError for what is read in pieces."""
        if self._files or self._chosen.names:
            raise UsageError(f"{self.path}: shuffle='block' reads whole samples: not with select, lazy or decode='file'")
        reader = self._reader().sharing()
        reader.select(self.fields, [""] * len(self.fields))
        return reader

    def _finish_raw(self, position: int, sample: dict) -> Any:
        """What `self[position]` is, of the dictionary that the raw reader gave for it."""
        row = position if self.indices is None else int(self.indices[position])
        lead = self._lead()
        ways = [(name, way, sample[name]) for name, way in self._ways.items() if way is not None]
        finishers = [(name, functools.partial(decode_list, way) if isinstance(value, list) else decoder_of_one(way)) for name, way, value in ways]
        return self._made(row, sample, finishers, lead, self.transform if lead is None else lead.rest_of)

    def _finished(self, row: int, field: str, finish: Callable[[Any], Any], value: Any) -> Any:
        try:
            return finish(value)
        except UnsupportedError:
            raise  # a library is missing: the image is not to blame
        except Exception as error:
            raise self._content_error(row, field, error) from error

    def _with_others(self, reader: _shale.Reader, rows: List[int], samples: List[dict], given: Optional[Mapping]) -> List[dict]:
        if self._chosen.names or given:
            read_chosen(self, self._chosen, rows, samples, {**self._ways, **dict.fromkeys(self._texts, "text")}, given)
        for field in self._files:
            for row, sample, value in zip(rows, samples, reader.values(rows, field)):
                sample[field] = None if value is None else value_file(self, row, field, value)
        return [{name: sample[name] for name in self.fields} for sample in samples]

    def open(self, index: int, field: str) -> Optional[ValueFile]:
        """A value of kind bytes as a file, to be read piece by piece: a video, a recording.

        torchcodec, PyAV, soundfile and ``wave`` take it, and read of it what they need::

            with shale.Dataset("clips") as ds, ds.open(7, "video") as file:
                frames = torchcodec.decoders.VideoDecoder(file)[10:20]

        It works for every container, and for files of other tools. See ``ValueFile`` for what is verified.
        ``field`` need not be among ``fields``. None if a sample of a foreign file lacks the value.

        Raises:
            IndexError: no such sample.
            shale.errors.NotFoundError: no such field.
            shale.errors.UnsupportedError: the field is of another kind than bytes.
        """
        row = self._rows([index])[0]
        value = self._reader().values([row], text(field, "field"))[0]
        return None if value is None else value_file(self, row, field, value)

    def _rows(self, positions: Iterable[int]) -> List[int]:
        """Rows of the dataset for positions in this."""
        rows = _rows(positions, len(self))
        return rows if self.indices is None else [int(self.indices[row]) for row in rows]

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
        if row is not None and self.indices is not None:
            row = _position_of(self.indices, row)
        if row is None:
            raise KeyError(key)
        return row

    def column(self, name: str) -> Any:
        """All values of a field, or one column of the index, as a numpy array whose first axis has ``len(self)`` elements.

        ``name`` is a field of kind integer (int64) or real (float64), or any other column that the index has:
        ``"image.length"`` (uint64), ``"key_hash"`` (uint64) ... These come from the index alone. For arrays,
        which have no index, integers and reals come from the shards, in the dtype that they are stored in
        (``schema[name]["dtype"]``).

        ``"key"`` and fields of kind text: an object array of ``str``. Tensors: one array of shape (len(self), ...).
        Bytes, lists and tensors whose shapes differ: an object array. These are read, in the order of the dataset, and take the memory of
        all the values. A field of which a sample lacks the value is an object array with None there.

        Raises:
            shale.errors.NotFoundError: no such column; the message lists the columns.
        """
        reader = self._reader()
        kinds = {"key": "text", **{field["name"]: field["kind"] for field in reader.schema}}
        if kinds.get(text(name, "name"), "integer") not in ("integer", "real"):
            return self._values(name)
        column = reader.column(name)
        if self.schema.get(name, {}).get("optional"):
            is_absent = reader.column(f"{name}.present") == 0
            if is_absent.any():
                column = _of_objects(column.tolist())
                column[is_absent] = None
        return column if self.indices is None else column[self.indices if not isinstance(self.indices, range) else _slice(self.indices)]

    def _values(self, name: str) -> Any:
        import numpy

        reader = self._open()
        reader.select([name], [""])
        size = len(self)
        described = self.schema.get(name, {})
        dtype = dtype_of(described["dtype"]) if "dtype" in described else numpy.dtype(object)
        is_raw = name_of(dtype) is not None
        is_varied = None in described.get("shape", ()) or (is_raw and "optional" in described)
        column = numpy.empty(size, object) if size and is_varied else None
        has_bytes = is_raw and not is_varied  # which are put together, as numbers of one tensor
        for begin in range(0, size, _ROWS_AT_ONCE):
            samples = reader.read(self._rows(range(begin, min(begin + _ROWS_AT_ONCE, size))))
            for position, sample in enumerate(samples, begin):
                value = as_array(sample[name]) if has_bytes else sample[name]
                if column is None:
                    is_tensor = isinstance(value, numpy.ndarray)
                    column = numpy.empty((size, *value.shape), value.dtype) if is_tensor else numpy.empty(size, object)
                elif value is None and column.dtype != object:
                    column = _of_objects(column)
                column[position] = value
        if column is None:
            column = numpy.empty((0, *(side or 0 for side in described.get("shape", ()))), dtype)
        return as_numbers(column) if has_bytes else column

    # --- what the dataset is

    @functools.cached_property
    def schema(self) -> dict:
        """The fields by name: ``{"image": {"kind": "bytes"}, "x": {"kind": "tensor", "dtype": "<f4",
        "shape": (3, 4)}}``. For arrays, integers and reals also have a dtype and the shape (). A free side of a shape is
        None. Where they apply, ``"optional": True``, ``"elements": "text"`` of a list, and ``"format": "json"`` where text is JSON.
        ``types`` says the same in a word or two."""
        return {
            field["name"]: {name: field[name] for name in field if name != "name"}
            for field in self._reader().schema
        }

    @functools.cached_property
    def types(self) -> Dict[str, str]:
        """What each field holds, by name."""
        reader = self._reader()
        return {field["name"]: type_text for field, type_text in zip(reader.schema, reader.types)}

    @functools.cached_property
    def classes(self) -> list:
        """Names of the classes, by label. Empty if the dataset has none."""
        return self._reader().classes

    @functools.cached_property
    def class_to_idx(self) -> dict:
        """Label of each class, by name."""
        return {name: label for label, name in enumerate(self.classes)}

    @functools.cached_property
    def info(self) -> DatasetInfo:
        """What the manifest says now: format, samples, shards, digests ...

        Of all of the dataset, also with ``indices``, and with what was appended to it since it was opened.
        """
        return info(self.path, index_dir=self.index_dir, parse=self.parse, database=self.database, axis=self.axis, raw=self.raw, raw_offset=self.raw_offset)

    def __repr__(self) -> str:
        if self._is_closed:
            return f"shale.Dataset({self.path!r}, closed)"
        fields = ", ".join(f"{name} ({self.types[name]})" if name in self.types else name for name in self.fields)
        return f"shale.Dataset({self.path!r}: {len(self)} samples, {self._reader().format}; {fields})"

    def _content_error(self, row: int, field: str, error: Exception, what: str = "does not decode") -> ContentError:
        reader = self._reader()
        key = reader.key(row)
        made = ContentError(f"{self.path}: sample {row} '{key}': field '{field}' {what}: {error}")
        made.sample, made.key, made.shard = row, key, reader.shard_name(row)
        return made


def _verify(value: Any) -> Union[bool, str]:
    if isinstance(value, str) and value == "auto":
        return value
    try:
        return flag(value, "verify")
    except UsageError:
        raise UsageError(f"verify is {value!r}, expected 'auto', True or False") from None


def _position_of(indices: Any, row: int) -> Optional[int]:
    """The first position of a row in indices; None if it is not among them."""
    import numpy

    if isinstance(indices, range):
        return indices.index(row) if row in indices else None
    found = numpy.flatnonzero(indices == row)
    return int(found[0]) if found.size else None


def _slice(rows: range) -> slice:
    stop: Optional[int] = rows.stop
    return slice(rows.start, None if stop is not None and stop < 0 else stop, rows.step)


def _of_objects(column: Any) -> Any:
    """The same values, in an array that can also hold None."""
    import numpy

    objects = numpy.empty(len(column), object)
    for position, value in enumerate(column):
        objects[position] = value
    return objects


def _rows(indices: Iterable[int], size: int) -> List[int]:
    rows = []
    for index in indices:
        row = operator.index(index)
        if not -size <= row < size:
            raise IndexError(f"sample {row} of {size}")
        rows.append(row + size if row < 0 else row)
    return rows
