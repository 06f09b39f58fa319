"""Writes samples that a program makes, one by one, into a dataset."""

from __future__ import annotations

import contextlib
import json
import os
import weakref
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from shale import _shale
from shale._arguments import Parts, Path, flag, path_bytes, text, whole_number
from shale._results import of_facts, unescaped
from shale._words import Translation, words_of
from shale.errors import Error, SchemaError, UsageError

_KIND_OF: Dict[type, str] = {bytes: "bytes", str: "text", int: "integer", float: "real", list: "list"}
_KINDS: Dict[Any, str] = {**_KIND_OF, **{each.__name__: kind for each, kind in _KIND_OF.items()}, **{kind: kind for kind in _KIND_OF.values()}}


@dataclass(frozen=True)
class WriteResult:
    """A dataset that was written."""

    path: str
    format: str
    samples: int
    shards: int  #: 1 for an output that is one file
    payload_bytes: int  #: of the values, without numbers
    file_bytes: int
    content_digest: str  #: docs/digests.md: the same for the same samples, in any order and any format
    ordered_digest: str  #: the same for the same samples in the same order
    keys_digest: Optional[str]  #: of keys and content; None if there are no keys


class Writer:
    """Writes samples into a dataset: the same shards, indexes, hashes and manifest as ``shale convert`` of the same samples.

    ::

        with shale.Writer("out", schema={"image": "bytes", "label": "int"}, classes=["cat", "dog"]) as writer:
            writer.write({"key": "a.jpg", "image": data, "label": "dog"})

    Args:
        out: a directory, which must not exist or be empty; or one file, ``train.lmdb``, ``.h5``, ``.tfrecord``,
            ``.npy``, ``.npz``, ``.pt`` or ``.safetensors``, whose suffix is the format.
        to: format of the shards; see ``shale formats``. Default: ``"record"``, or what the suffix of ``out`` says; another suffix is refused.
        schema: the fields of every sample, in order: ``{name: kind}``. A kind is ``"bytes"``, ``"str"``, ``"int"``
            (64 bits), ``"float"`` (64 bits), ``"list"`` (of bytes), one of the types ``bytes``, ``str``,
            ``int``, ``float`` and ``list``, or ``(dtype, shape)`` for numpy arrays of one dtype and shape:
            ``("float32", (3, 224, 224))``, and ``"int32"`` or ``numpy.float32`` for a number of that dtype. ``"first"`` takes the schema from the first
            sample, and holds all others to it.
        classes: names of the classes, by label. The samples then have an int field ``label``: an index, or a name of this list.
        keys: whether samples have keys. Default: only where a field is of another kind than numbers and arrays of one size.
        shard_size: the maximum size of any file of a shard: bytes, or a string such as ``"64MiB"``. Default: 1 GiB.
        shard_samples: the maximum number of samples in a shard.
        jobs: number of threads, 1 to 1024. Default: ``SHALE_JOBS``, or as many as SLURM, the CPU affinity and the cgroup allow.
        memory: memory budget for samples under way: bytes, or a string such as ``"64MiB"``; at least 16 MiB.
            Default: ``SHALE_MEMORY``, or 256 MiB, or a quarter of the memory that SLURM, the cgroup and the machine allow, if
            that is less.
        io: ``"direct"`` writes bypass the page cache, ``"buffered"`` ones use it; ``"auto"`` chooses.
        overwrite: replace an existing dataset, when the new one is complete.
        verify: read everything back at the end, and compare it with its hashes.
        with_index: put the index of an output that is one file beside it, so that ``Dataset`` opens it at once.
        parts: write only part ``index`` of ``count`` (from 0), ``(index, count)``, into ``part-INDEX-of-COUNT`` in ``out``;
            ``merge`` joins the parts. A string takes both from the environment: ``"slurm"``, ``"slurm/128"`` (the number of all
            parts, for a job array of some of them) or ``"mpi"``.
        part_offset: with ``"slurm/N"``, the part that task 0 makes, where several job arrays make the parts.
            Each writer decides which samples it writes; they need keys, and no two parts may have the same.

    The dataset is there when ``close()`` has returned, or the ``with`` block has ended: complete, durable, with its
    manifest. An exception inside the block, or a writer that is dropped without ``close()``, leaves nothing. Hashing, encoding
    and writing run in threads without the GIL; ``write()`` copies the values, and waits only where the disk is slower.
    Several threads may write; the order of the samples is that of their calls. A forked child may not.

    Raises:
        shale.errors.UsageError: an argument is invalid, or contradicts another.
        shale.errors.MismatchError: the output already exists and ``overwrite`` is False, or another process writes it.
        shale.errors.SchemaError: the format cannot hold such fields.
        shale.errors.StorageError: the storage failed, or is full.
    """

    def __init__(
        self,
        out: Path,
        to: Optional[str] = None,
        schema: Union[None, str, Mapping[str, Any]] = None,
        *,
        classes: Optional[Sequence[str]] = None,
        keys: Optional[bool] = None,
        shard_size: Union[None, int, str] = None,
        shard_samples: Optional[int] = None,
        jobs: Optional[int] = None,
        memory: Union[None, int, str] = None,
        io: str = "auto",
        overwrite: bool = False,
        verify: bool = False,
        with_index: bool = False,
        parts: Parts = None,
        part_offset: Optional[int] = None,
    ) -> None:
        if to is None and not os.path.splitext(path_bytes(out, "out"))[1]:
            to = "record"
        words = words_of("convert", [b"-", path_bytes(out, "out")], locals())
        fields = _fields_of(schema)
        self._keys = None if keys is None else flag(keys, "keys")
        self._classes = None if classes is None else _class_names(classes)
        self._in_python = Translation(words)
        self._has_begun = self._is_closed = False
        with _translated(self._in_python):
            self._native = _shale.SampleWriter(words)
            # Also at the end of the interpreter, before its threads are gone.
            self._abandon = weakref.finalize(self, self._native.abandon)
            if fields is not None:
                try:
                    self._begin(fields)
                except BaseException:
                    self._abandon()  # now, and not when the traceback goes
                    raise

    def write(self, sample: Mapping[str, Any]) -> None:
        """Adds a sample.

        Args:
            sample: ``{name: value}`` with a value for each field of the schema: bytes (also bytearray, memoryview, arrays of
                bytes), str, int, float, a numpy array of the dtype and shape, a list of bytes. ``"key"``, a str
                or bytes, names the sample; no two may have the same, which ``close()`` finds out. Default: its number, ``"00000000"``.

        Raises:
            shale.errors.SchemaError: the sample does not fit; it is not written, and the writer goes on.
            shale.errors.LimitError: it is larger than a shard may be; the same.
            shale.errors.StorageError: the storage failed, or is full; there will be no dataset.
        """
        if sample is None:
            raise SchemaError(f"sample {self.samples} is None, expected a mapping of names to values")
        if type(sample) is not dict and isinstance(sample, Mapping):
            sample = dict(sample)
        try:
            if not self._has_begun or self._is_closed:
                self._first(sample)
            self._native.write(sample)
        except Error as error:
            self._in_python.apply_to(error)
            error.hint = error.hint or next(filter(None, map(_hint_about, sample.values() if isinstance(sample, dict) else ())), None)
            raise
        except (TypeError, RuntimeError) as error:
            of_tensor = _error_of_tensor(sample, self.samples)
            if of_tensor is None:
                raise
            raise of_tensor from error

    def close(self) -> WriteResult:
        """Finishes the dataset: waits until it is complete and durable. Called again, it returns the same.

        Raises:
            shale.errors.SchemaError: two samples have the same key, or there is no sample to take the schema from.
            shale.errors.StorageError: the storage failed, or is full.
            shale.errors.DamagedError: ``verify`` found damage.
        """
        if not self._is_closed:
            self._is_closed = True
            self._result: Optional[WriteResult] = None
            if not self._has_begun:
                self._abandon()
                raise SchemaError("no sample was written, and the first one was to say what the schema is")
            try:
                with _translated(self._in_python):
                    self._result = _written(json.loads(self._native.close()))
            finally:
                self._abandon()
        if self._result is None:
            raise UsageError("the writer was closed without a dataset")
        return self._result

    @property
    def samples(self) -> int:
        """How many samples have been written so far."""
        return self._native.samples if self._has_begun else 0

    def __len__(self) -> int:
        return self.samples

    def __enter__(self) -> Writer:
        if self._is_closed:
            raise UsageError("the writer is closed")
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> None:
        if kind is None:
            self.close()
        elif not self._is_closed:
            self._is_closed = True
            self._result = None
            self._abandon()

    def _first(self, sample: Any) -> None:
        if self._is_closed:
            raise UsageError("the writer is closed")
        if not isinstance(sample, dict):
            raise SchemaError(f"a sample is {type(sample).__name__}, expected a dict")
        self._begin([_guessed(name, value, self._classes) for name, value in sample.items() if name != "key"])

    def _begin(self, fields: List[tuple]) -> None:
        has_keys = self._keys
        if has_keys is None:
            has_keys = any(len(field) == 2 and field[1] in ("bytes", "text", "list") for field in fields)
        labels = None
        if self._classes is not None:
            labels = {name: label for label, name in enumerate(self._classes)}
            if not any(field[0] == "label" and _is_integer(field) for field in fields):
                raise UsageError("classes is for samples with an int field 'label', and the schema has none")
        self._native.begin(fields, has_keys, [os.fsencode(name) for name in self._classes or ()], labels)
        self._has_begun = True


def from_iterable(
    samples: Iterable[Mapping[str, Any]],
    out: Path,
    to: Optional[str] = None,
    schema: Union[None, str, Mapping[str, Any]] = None,
    **options: Any,
) -> WriteResult:
    """Writes all samples of an iterable into a dataset: ``Writer`` in one call.

    Args:
        samples: dictionaries, as ``Writer.write`` takes them.
        out, to, schema: as ``Writer`` has them.
        options: those of ``Writer``: classes, keys, shard_size, shard_samples, jobs, memory, io, overwrite, verify,
            with_index, parts, part_offset.

    An exception that the iterable raises, or a sample that does not fit, is raised here, and leaves no dataset.

    Raises:
        As ``Writer``, ``Writer.write`` and ``Writer.close``.
    """
    with Writer(out, to, schema, **options) as writer:
        for sample in samples:
            writer.write(sample)
    return writer.close()


@contextlib.contextmanager
def _translated(in_python: Translation) -> Iterator[None]:
    """Errors in the block name arguments, not options of the program."""
    try:
        yield
    except Error as error:
        in_python.apply_to(error)
        if "an unfinished run of another command" in str(error):
            error.hint = "pass overwrite=True to discard it; what a Writer has begun cannot be continued"
        raise


def _written(facts: dict) -> WriteResult:
    return of_facts(WriteResult, facts, path=unescaped(facts["output"]), payload_bytes=facts["bytes"], keys_digest=facts["key_digest"])


# --- schema and classes


def _fields_of(schema: Any) -> Optional[List[tuple]]:
    """None: those of the first sample."""
    if isinstance(schema, Mapping):
        return [_field_of(text(name, "a field of the schema"), kind) for name, kind in schema.items()]
    if isinstance(schema, str) and schema == "first":
        return None
    found = "missing" if schema is None else repr(schema)
    raise UsageError(f'schema is {found}, expected a mapping such as {{"image": "bytes", "label": "int"}}, or "first"')


def _field_of(name: str, kind: Any) -> tuple:
    if isinstance(kind, (str, type)) and kind in _KINDS:
        return (name, _KINDS[kind])
    if isinstance(kind, (tuple, list)) and len(kind) == 2:
        return _array_field(name, *kind)
    try:
        field = _array_field(name, kind, ())  # a number: "int32", numpy.float32, bool
    except UsageError:
        field = None
    if field is not None and field[3].kind in "biufc":
        return field
    raise _hinted(
        UsageError(f"field {name!r} of the schema is {kind!r}, expected 'bytes', 'str', 'int', 'float', 'list' or a pair (dtype, shape)"), kind
    )


def _array_field(name: str, dtype: Any, shape: Any) -> Tuple[str, str, Tuple[int, ...], Any]:
    import numpy

    given = dtype
    try:
        dtype = numpy.dtype(str(dtype)[6:] if type(dtype).__module__ == "torch" else dtype).newbyteorder("<")
    except TypeError as error:
        raise _hinted(UsageError(f"field {name!r} of the schema has dtype {given!r}: {error}"), given) from None
    if dtype.hasobject:
        raise UsageError(f"field {name!r} of the schema has dtype {dtype}, which holds Python objects")
    sides = shape if isinstance(shape, (tuple, list)) else (shape,)
    if None in sides:
        raise UsageError(f"field {name!r} of the schema has shape {shape!r}, but all arrays of a field have one shape; write others as 'bytes'")
    counted = tuple(whole_number(side, f"a side of the shape of field {name!r}") for side in sides)
    descr = numpy.lib.format.dtype_to_descr(dtype)
    return (name, descr if isinstance(descr, str) else repr(descr), counted, dtype)  # type: ignore[return-value]


# What other writers call it, or types of values, and what to do here.
_HINTS = {
    **dict.fromkeys(("image", "jpeg", "jpg", "pil", "png", "webp"), "an image is 'bytes', encoded: image.save(file, 'PNG') with file = io.BytesIO(), file.getvalue()"),
    **dict.fromkeys(("array", "ndarray", "tensor"), "an array is a pair of dtype and shape, ('float32', (3, 224, 224))"),
    **dict.fromkeys(("dict", "json"), "JSON is 'str': json.dumps(value)"),
    **dict.fromkeys(("pickle", "pkl"), "a pickle is 'bytes': pickle.dumps(value)"),
    **dict.fromkeys(("class", "cls", "label"), "a label is 'int'"),
    "bfloat16": "NumPy has no bfloat16: write tensor.float() as 'float32', or tensor.view(torch.uint16) as 'uint16'",
    "detach": "write tensor.detach()",
    "string": "text is 'str'",
}


def _hinted(error: Any, kind: Any) -> Error:
    name = kind.__name__ if isinstance(kind, type) else str(kind)
    error.hint = _HINTS.get(name.rpartition(".")[2].lower())
    return error  # type: ignore[no-any-return]


def _hint_about(value: Any) -> Optional[str]:
    return _HINTS["image"] if hasattr(value, "getbands") else _HINTS["dict"] if isinstance(value, dict) else None


def _error_of_tensor(sample: Any, number: int) -> Optional[Error]:
    """What is wrong with a tensor in a sample that torch does not hand to NumPy."""
    import numpy

    for name, value in sample.items() if isinstance(sample, dict) else ():
        if hasattr(value, "requires_grad"):
            try:
                numpy.asarray(value)
            except (TypeError, RuntimeError) as cause:
                made = SchemaError(f"sample {number}: field {name!r} is a tensor of {value.dtype}: {cause}")
                return _hinted(made, "tensor.detach" if value.requires_grad else value.dtype)
    return None


def _is_integer(field: tuple) -> bool:
    if len(field) == 2:
        return bool(field[1] == "integer")
    return bool(field[2] == () and field[3].kind in "biu" and field[3] != "u8")


def _guessed(name: Any, value: Any, classes: Optional[List[str]]) -> tuple:
    """The field that a value of the first sample makes."""
    if not isinstance(name, str):
        raise SchemaError(f"a field is called {name!r}, expected a string")
    is_text = isinstance(value, (bytes, str))  # also NumPy's
    if hasattr(value, "dtype") and hasattr(value, "shape") and not is_text:
        import numpy

        array = numpy.asarray(value)
        return _array_field(name, array.dtype, array.shape)
    if classes is not None and name == "label" and isinstance(value, str):
        return (name, "integer")
    for each, kind in {**_KIND_OF, bytearray: "bytes", memoryview: "bytes", tuple: "list"}.items():
        if isinstance(value, each):
            return (name, kind)
    raise SchemaError(
        f"field {name!r} of the first sample is {type(value).__name__}, expected bytes, str, int, float, a list of bytes or an array"
    )


def _class_names(classes: Any) -> List[str]:
    if isinstance(classes, (str, bytes)):
        raise UsageError(f"classes is {classes!r}, expected a list of names")
    names = list(classes)
    seen = set()
    for name in names:
        if not isinstance(name, str) or not name:
            raise UsageError(f"classes holds {name!r}, expected names")
        if name in seen:
            raise UsageError(f"classes holds {name!r} twice")
        seen.add(name)
    if not names:
        raise UsageError("classes is empty, expected names")
    return names
