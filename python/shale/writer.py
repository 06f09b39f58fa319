"""Writes samples that a program makes, one by one, into a dataset."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import weakref
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from shale import _shale
from shale._arguments import Parts, Path, flag, path_bytes
from shale._field_types import InputField, error_of_tensor, fields_of, fields_of_first, hint_about, with_arrays_of
from shale._results import of_facts, unescaped
from shale._values import encoded
from shale._words import Translation, words_of
from shale.errors import Error, MismatchError, SchemaError, UsageError

log = logging.getLogger("shale")


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
    appended: Optional[int]  #: samples that ``append`` added; everything else describes the whole dataset
    was_complete: bool  #: the dataset was finished before, with the same samples: nothing was written


class Writer:
    """Writes samples into a dataset: the same shards, indexes, hashes and manifest as ``shale convert`` of the same samples.

    ::

        with shale.Writer("out", schema={"image": "bytes", "label": "int"}, classes=["cat", "dog"]) as writer:
            writer.write({"key": "a.jpg", "image": data, "label": "dog"})

    Args:
        out: a directory, which must not exist or be empty; or one file, ``train.lmdb``, ``.h5``, ``.tfrecord``, ``.tar``,
            ``.npy``, ``.npz``, ``.pt`` or ``.safetensors``, whose suffix is the format.
        to: format of the shards; see ``shale formats``. Default: ``"record"``, or what the suffix of ``out`` says; another suffix is refused.
        schema: the fields of every sample, in order: ``{name: type}``. A type is ``"bytes"``, ``"str"``, ``"int"``
            (64 bits), ``"float"`` (64 bits), a dtype for a number of it, ``"int32"``; a dtype and a shape for arrays, ``"float32 (3, 224, 224)"``, or a
            pair of both, where ``?`` or None is a side that differs from sample to sample: ``"float32 (?, 4)"``, ``("int64", (None,))``;
            ``"list"`` (of bytes), ``"list[str]"``, ``"list[int]"`` (an array ``"int64 (?)"``); ``"json"``; ``"ndarray"``: dtype and number of sides
            as in the first sample, and all of them differ; ``"jpeg"``, ``"jpeg:95"``, ``"webp:90"`` or ``"png"`` for images, which are encoded. With a ``?``
            behind it a sample may lack the value: ``"str?"``. Types do as well: ``str``, ``list[str]``, ``Optional[int]``, ``numpy.float32``; and
            what ``Dataset.types`` and ``Dataset.schema`` say. ``"first"`` takes the schema from the first sample, and holds all others to it.
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
        append: write behind the samples of the finished dataset ``out``, whose format, fields, classes and bounds of shards
            hold where they are not given; a ``to``, ``schema`` or ``classes`` that differs is refused. Readers see the dataset before
            or after. Samples without a key are numbered on. Samples with the keys and content of the last append are not
            appended again: ``close()`` says ``was_complete``; with ``resume`` neither are rows, which have none.
        new_classes: ``"append"`` puts classes that the dataset does not have behind its others.
        resume: continue a writer of the same arguments that was killed, or did not get to ``close()``: the shards that it
            had completed stay, and ``resumed_from`` says which sample comes first. The result has the bytes of a run
            that was never stopped. With nothing to go on with it is 0; of a dataset that is finished, the number of its samples. What is
            stopped by an exception keeps its complete shards then, too. Not for an output that is one file.

    The dataset is there when ``close()`` has returned, or the ``with`` block has ended: complete, durable, with its
    manifest. An exception inside the block, or a writer that is dropped without ``close()``, leaves nothing (without ``resume``). Hashing, encoding
    and writing run in threads without the GIL; ``write()`` copies the values, and waits only where the disk is slower.
    Several threads may write; the order of the samples is that of their calls. A forked child may not.

    Raises:
        shale.errors.UsageError: an argument is invalid, or contradicts another.
        shale.errors.MismatchError: the output already exists and ``overwrite`` is False, or another process writes it; what is to be
            resumed, or appended to, has other arguments or fields.
        shale.errors.NotFoundError: there is no dataset to append to.
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
        append: bool = False,
        new_classes: Optional[str] = None,
        resume: bool = False,
    ) -> None:
        is_append = flag(append, "append")
        if to is None and not is_append and not os.path.splitext(path_bytes(out, "out"))[1]:
            to = "record"
        # keys is an option of convert, too, and means something else there.
        words = words_of("convert", [b"-", path_bytes(out, "out")], {**locals(), "keys": None})
        fields = None if schema is None and is_append else fields_of(schema)
        self._keys = None if keys is None else flag(keys, "keys")
        self._classes = self._labels = None if classes is None else _class_names(classes)
        self._in_python = Translation(words)
        self._has_begun = self._is_closed = False
        self._encoders: List[Any] = []
        self._fields: Optional[Dict[str, InputField]] = None  # of which the first sample says more
        with _translated(self._in_python):
            self._native = _shale.SampleWriter(words, flag(resume, "resume"))
            # Also at the end of the interpreter, before its threads are gone.
            self._abandon = weakref.finalize(self, self._native.abandon)
            self.resumed_from: int = self._native.resumed  #: how many samples an earlier run has written: the number of the first one to write
            if self.resumed_from:
                log.info("%s: continuing: %d samples are complete", os.fspath(out), self.resumed_from)
            standing = self._native.appended_to
            if standing is not None:
                self._take_over(*standing[1:])
                fields = fields_of(standing[0]) if schema is None else fields
            if fields is not None and any("kind" not in (field.described or {}) for field in fields.values()):
                self._fields = fields
            elif fields is not None:
                try:
                    self._begin(fields)
                except BaseException:
                    self._abandon()  # now, and not when the traceback goes
                    raise

    def write(self, sample: Mapping[str, Any]) -> None:
        """Adds a sample.

        Args:
            sample: ``{name: value}`` with a value for each field of the schema: bytes (also bytearray, memoryview, arrays of
                bytes), str, int, float, a numpy array of the dtype and shape or a list of its numbers, a list of bytes or str; for ``"json"`` what
                ``json.dumps`` takes, or JSON as a str; for ``"jpeg"`` and the like a PIL image, a uint8 array (H, W, 3) or (H, W), or bytes,
                which are taken as they are. None, or no entry, where an optional value is absent. ``"key"``, a str
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
            self._native.write(encoded(sample, self._encoders, self.samples) if self._encoders else sample)
        except Error as error:
            self._in_python.apply_to(error)
            encoded_names = dict(self._encoders)  # what is JSON, or an image, already
            others = [value for name, value in sample.items() if name not in encoded_names] if isinstance(sample, dict) else []
            error.hint = error.hint or next(filter(None, map(hint_about, others)), None)
            raise
        except (TypeError, RuntimeError) as error:
            of_tensor = error_of_tensor(sample, self.samples)
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
            if not self._has_begun and not self._native.is_complete:
                self._abandon()
                error = SchemaError("no sample was written, and the first one was to say what the schema is")
                error.hint = "name the fields in schema, which then needs no sample" if self.resumed_from else None
                raise error
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
        """How many samples have been written so far, with those before ``resumed_from``."""
        return self._native.samples if self._has_begun else self.resumed_from

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
        self._begin(fields_of_first(sample, self._labels) if self._fields is None else with_arrays_of(sample, self._fields))

    def _take_over(self, has_keys: bool, classes: List[bytes]) -> None:
        """What the arguments leave open, as the dataset has it that is appended to."""
        if self._keys is None:
            self._keys = has_keys
        if len(classes) > len(self._labels or ()):
            self._labels = [os.fsdecode(name) for name in classes]

    def _begin(self, fields: Dict[str, InputField]) -> None:
        described = {name: field.described or {} for name, field in fields.items()}
        has_keys = self._keys
        if has_keys is None:
            has_keys = any(_differs_in_size(field) for field in described.values())
        labels = None
        if self._labels is not None:
            labels = {name: label for label, name in enumerate(self._labels)}
            if self._classes is not None and described.get("label", {}).get("kind") != "integer":
                raise UsageError("classes is for samples with an int field 'label', and the schema has none")
        self._native.begin(described, has_keys, [os.fsencode(name) for name in self._classes or ()], labels)
        self._encoders = [(name, field.encode) for name, field in fields.items() if field.encode is not None]
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
            with_index, parts, part_offset, append, new_classes, and resume: the samples before ``resumed_from`` are then taken from the
            iterable and left out.

    An exception that the iterable raises, or a sample that does not fit, is raised here, and leaves no dataset.

    Raises:
        As ``Writer``, ``Writer.write`` and ``Writer.close``.
    """
    with Writer(out, to, schema, **options) as writer:
        taken = 0
        for taken, sample in enumerate(samples, 1):
            if taken > writer.resumed_from:
                writer.write(sample)
        if taken < writer.resumed_from:
            raise MismatchError(f"{os.fsdecode(out)}: {writer.resumed_from} samples are written already, but the iterable has {taken}")
    return writer.close()


@contextlib.contextmanager
def _translated(in_python: Translation) -> Iterator[None]:
    """Errors in the block name arguments, not options of the program."""
    try:
        yield
    except Error as error:
        in_python.apply_to(error)
        if "an unfinished run of another command" in str(error) and error.hint:
            error.hint = error.hint.replace("run that command again to finish it", "finish it first (a Writer with the arguments that it had and resume=True)")
        raise


def _written(facts: dict) -> WriteResult:
    return of_facts(
        WriteResult,
        facts,
        path=unescaped(facts["output"]),
        payload_bytes=facts["bytes"],
        keys_digest=facts["key_digest"],
        appended=facts.get("appended", {}).get("samples"),
    )


def _differs_in_size(field: Dict[str, Any]) -> bool:
    return field["kind"] in ("bytes", "text", "list") or "optional" in field or None in field.get("shape", ())


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
