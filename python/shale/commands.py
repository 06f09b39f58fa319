"""The commands of the program as functions: the same arguments, the same bytes, results with types."""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from shale import _shale
from shale._arguments import (
    Parts,
    Path,
    Paths,
    byte_size,
    chosen_fields,
    flag,
    inputs,
    one_of,
    part_text,
    path_bytes,
    path_list,
    text,
    whole_number,
)
from shale._program import Translation, is_of_the_program
from shale.errors import DamagedError, Error, NotFoundError, UsageError

Progress = Optional[Callable[[int, int], Any]]


@dataclass(frozen=True)
class FieldInfo:
    """A field of a dataset's schema."""

    name: str
    kind: str  #: ``"bytes"``, ``"text"``, ``"integer"``, ``"real"``, ``"tensor"`` or ``"list"``
    dtype: Optional[str] = None  #: NumPy's description, such as ``"<f4"``, where all values have one
    shape: Optional[Tuple[int, ...]] = None  #: of one value, where all have one


@dataclass(frozen=True)
class Finding:
    """One thing that ``verify`` found to be wrong. What is not known, or has no meaning here, is None."""

    message: str
    file: Optional[str] = None  #: in the dataset's directory
    byte: Optional[int] = None  #: in that file
    bytes: Optional[int] = None  #: how many are concerned
    shard: Optional[str] = None
    row: Optional[int] = None  #: in that shard
    sample: Optional[int] = None  #: over the dataset
    key: Optional[str] = None
    field: Optional[str] = None
    found: Optional[str] = None
    expected: Optional[str] = None

    def __str__(self) -> str:
        place = [self.file, None if self.byte is None else f"byte {self.byte}", self.key and f"sample '{self.key}'"]
        values = self.found and self.expected and f": found {self.found}, expected {self.expected}"
        return ": ".join(part for part in [*place, self.message] if part) + (values or "")


@dataclass(frozen=True)
class SecondOpinion:
    """What the library of a container said of the shards that shale found intact (``deep``)."""

    library: str
    shards: int
    samples: int
    findings: int


@dataclass(frozen=True)
class VerifyResult:
    """The result of ``verify``. It is true if nothing is wrong."""

    ok: bool
    shards: int
    samples: int
    bytes: int  #: that were checked
    findings: int  #: how many there are
    first_findings: Tuple[Finding, ...]  #: the first 1,000 of them
    bad_when_written: int  #: of the findings: images that do not decode, but are as they were when they were written
    undecoded: int  #: images of types that shale has no decoder for
    second_opinion: Optional[SecondOpinion]
    notes: Tuple[str, ...]  #: what could not be verified, a sentence each

    def __bool__(self) -> bool:
        return self.ok

    def raise_if_damaged(self) -> None:
        """Does nothing if nothing is wrong.

        Raises:
            shale.errors.DamagedError: with the first finding.
        """
        if self.ok:
            return
        first = self.first_findings[0]
        more = self.findings - 1
        error = DamagedError(f"{first}" + (f" (and {more} more {'finding' if more == 1 else 'findings'})" if more else ""))
        error.file, error.offset, error.shard, error.key, error.sample = first.file, first.byte, first.shard, first.key, first.sample
        raise error


@dataclass(frozen=True)
class DatasetInfo:
    """What a dataset is, from its manifest: the members of ``shale info --json`` (docs/json.md)."""

    complete: bool  #: False: a run is unfinished; everything else is empty then
    format: str = ""
    generator: str = ""  #: the program that wrote it
    samples: int = 0
    bytes: int = 0  #: of payload
    shards: int = 0
    file_bytes: int = 0  #: of the shards, with indexes and block lists
    largest_file: int = 0  #: bytes
    fields: Tuple[FieldInfo, ...] = ()
    classes: int = 0
    class_names: Tuple[str, ...] = ()  #: by label
    skipped: int = 0  #: images that were left out, listed in ``skipped.csv``
    ignored: int = 0  #: entries of the folder that are not samples, listed in ``ignored.csv``
    images: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  #: ``{"types": {"jpeg": 7}, "odd": {"gray": 1}}``
    source: Mapping[str, Any] = field(default_factory=dict)  #: kind, samples, bytes and fingerprint of the input
    options: Mapping[str, str] = field(default_factory=dict)  #: those that shaped the bytes
    content_digest: Optional[str] = None  #: hexadecimal; None: the payload of a file of another tool was never read
    ordered_digest: Optional[str] = None
    key_digest: Optional[str] = None  #: None also where keys are only numbers
    indexed: bool = True  #: False: a file of another tool, surveyed for this call alone
    notes: Tuple[str, ...] = ()


@dataclass(frozen=True)
class SkippedImage:
    """An image that ``convert`` left out."""

    key: str
    reason: str  #: ``"empty"``, ``"unknown-type"``, ``"truncated"``, ``"no-pixels"``, ``"damaged"`` or ``"other"``
    detail: str  #: in words


@dataclass(frozen=True)
class ConvertResult:
    """The result of ``convert``. What ``dry_run`` cannot know is None."""

    output: str
    format: str
    samples: int
    bytes: int  #: of payload
    shards: int
    file_bytes: int  #: of all files
    fields: Tuple[FieldInfo, ...]
    classes: int
    skipped: int  #: images that were left out, by this conversion or by those before it
    first_skipped: Tuple[SkippedImage, ...]  #: the first of those that this conversion left out: ten, or 1,000 for one file
    ignored: int  #: entries of the folder that are not samples
    images: Mapping[str, Mapping[str, int]]
    index: Optional[str]  #: of one file, ``with_index``: the manifest that stands beside it
    dry_run: bool
    was_complete: bool  #: the output was finished before: nothing was done
    was_compared: bool  #: and the input is newer: its content was compared, and is the same
    content_digest: Optional[str]
    ordered_digest: Optional[str]
    key_digest: Optional[str]
    verification: Optional[VerifyResult]  #: with ``verify``
    notes: Tuple[str, ...]


@dataclass(frozen=True)
class IndexedFile:
    """A file of another tool, and its index."""

    index: str  #: path of the index's manifest
    format: str
    samples: int
    bytes: int  #: of payload
    fields: Tuple[FieldInfo, ...]
    checksums: bool  #: whether the payload was read
    content_digest: Optional[str]  #: None if it was not
    notes: Tuple[str, ...]


@dataclass(frozen=True)
class RebuiltShard:
    """A shard of a dataset whose index and block list were checked."""

    name: str
    was_whole: bool
    has_index: bool
    index_written: bool
    blocks_written: bool
    fault: Optional[str] = None  #: why they could not be rebuilt


@dataclass(frozen=True)
class IndexResult:
    """The result of ``index``: of files of other tools, or of one dataset."""

    files: Tuple[IndexedFile, ...] = ()
    shards: Tuple[RebuiltShard, ...] = ()
    whole: int = 0  #: shards whose lists were intact
    rebuilt: int = 0


@dataclass(frozen=True)
class FormatInfo:
    """A format that ``convert`` writes."""

    name: str
    summary: str
    suffixes: Tuple[str, ...]  #: of its files
    kinds: Tuple[str, ...]  #: of fields that it can hold
    self_checksummed: bool  #: the container carries checksums of its own


def convert(
    source: Union[Paths, Mapping[str, Paths]],
    output: Path,
    to: Optional[str] = None,
    *,
    shard_size: Union[None, int, str] = None,
    shard_samples: Optional[int] = None,
    fields: Union[None, str, List[str], Tuple[str, ...]] = None,
    labels: Optional[Path] = None,
    classes_from: Optional[Path] = None,
    select: Optional[Path] = None,
    exclude: Optional[Path] = None,
    shuffle: bool = False,
    seed: Optional[int] = None,
    parse: Optional[str] = None,
    index_dir: Optional[Path] = None,
    hidden: Optional[str] = None,
    allow_empty: bool = False,
    on_error: Optional[str] = None,
    max_errors: Union[None, int, str] = None,
    parts: Parts = None,
    part_offset: Optional[int] = None,
    with_index: bool = False,
    compress: Optional[str] = None,
    verify: bool = False,
    io: str = "auto",
    overwrite: bool = False,
    dry_run: bool = False,
    jobs: Optional[int] = None,
    memory: Union[None, int, str] = None,
    progress: Progress = None,
) -> ConvertResult:
    """Converts images, arrays or a dataset: the command ``shale convert``, with the same bytes.

    Args:
        source: a folder with one folder of images for each class, a flat folder (with ``labels``), a dataset, a file of
            another tool, an .npy or .npz file, or a list of arrays to concatenate. A mapping of names to paths
            makes columns: ``{"x": "x.npy", "y": "y.npy"}``.
        output: the directory of shards to write. A name that ends in .npy, .npz, .lmdb, .h5, .hdf5 or .tfrecord is one file
            of any size instead, without a manifest.
        to: the format, such as ``"record"``; see ``formats()``. Default: that of the suffix of ``output``.
        shard_size: the maximum size of any file of a shard: bytes, or a string such as ``"64MiB"``. Default: 1 GiB.
        shard_samples: the maximum number of samples in a shard.
        fields: take only these fields of a dataset or of arrays, in this order.
        labels: of a flat folder: a CSV or TSV file of path,label, with class names or integers.
        classes_from: take the class table from another dataset, or from a file with one name per line.
        select: take only the samples that this file lists, in the order of the source: a key or row number per line, or
            an .npy file of rows. The manual page of ``shale convert`` tells how lines are read.
        exclude: leave out the samples that this file lists.
        shuffle: write the samples in a shuffled order.
        seed: of ``shuffle``; default 0.
        parse: of an LMDB file: ``"plain"`` makes each value one field, ``"msgpack"`` the entries of the map that it holds.
        index_dir: for a file of another tool, the directory of its index.
        hidden: ``"skip"`` or ``"keep"``: files and folders that begin with a dot.
        allow_empty: accept classes without images, and an input without images.
        on_error: what to do with images that are empty, truncated or not images: ``"skip"`` (default), ``"keep"`` or ``"fail"``.
        max_errors: fail if more images than this are bad: a number, or a share such as ``"1%"`` (default; at least 10).
        parts: write only part ``index`` of ``count`` (from 0), ``(index, count)``, into ``part-INDEX-of-COUNT`` in ``output``;
            ``merge`` joins the parts. A string takes both from the environment: ``"slurm"``, ``"slurm/128"`` (the number of all
            parts, for a job array of some of them) or ``"mpi"``.
        part_offset: with ``"slurm/N"``, the part that task 0 makes, where several job arrays make the parts.
        with_index: for one file: write its index beside it in the same pass.
        compress: of an .npz archive: ``"none"`` (default) or ``"deflate"``.
        verify: verify the result before returning.
        io: ``"direct"`` writes bypass the page cache, ``"buffered"`` ones use it; ``"auto"`` chooses.
        overwrite: replace an existing output.
        dry_run: report what would be written, and write nothing.
        jobs: number of threads. Default: as many as SLURM, the CPU affinity and the cgroup allow.
        memory: memory budget: bytes, or a string such as ``"64MiB"``; at least 16 MiB. Default: 256 MiB, or a quarter
            of the memory that SLURM, the cgroup and the machine allow, if that is less.
        progress: called as ``progress(done, total)`` in samples, from the calling thread, at most ten times a second.
            An exception that it raises stops the run and is raised here.

    The same call continues an unfinished output, and does nothing if it is finished. A call that is stopped leaves no
    finished dataset; complete shards may remain, for the same call to clear. The GIL is released.

    Raises:
        shale.errors.UsageError: an argument is invalid, or contradicts another.
        shale.errors.MismatchError: the output exists and holds something else.
        shale.errors.ContentError, LimitError: an image is bad with ``on_error="fail"``, or more are than ``max_errors`` allows.
        shale.errors.NotFoundError, UnsupportedError, SchemaError, DamagedError: about the source, or with ``verify`` the result.
        shale.errors.StorageError: the storage failed, or has too little free space.
    """
    if seed is not None and not flag(shuffle, "shuffle"):
        raise UsageError("seed has no effect without shuffle")
    words = {
        "inputs": inputs(source, "source"),
        "output": path_bytes(output, "output"),
        "to": None if to is None else text(to, "to"),
        "shard_size": byte_size(shard_size, "shard_size"),
        "shard_samples": whole_number(shard_samples, "shard_samples"),
        "fields": chosen_fields(fields),
        "labels": _maybe_path(labels, "labels"),
        "classes_from": _maybe_path(classes_from, "classes_from"),
        "select": _maybe_path(select, "select"),
        "exclude": _maybe_path(exclude, "exclude"),
        "shuffle": flag(shuffle, "shuffle"),
        "seed": whole_number(seed, "seed"),
        "parse": one_of(parse, "parse", (None, "plain", "msgpack")),
        "index_dir": _maybe_path(index_dir, "index_dir"),
        "hidden": one_of(hidden, "hidden", (None, "skip", "keep")),
        "allow_empty": flag(allow_empty, "allow_empty"),
        "on_error": one_of(on_error, "on_error", (None, "skip", "keep", "fail")),
        "max_errors": None if max_errors is None else _allowance(max_errors),
        "parts": part_text(parts, "parts"),
        "part_offset": whole_number(part_offset, "part_offset"),
        "with_index": flag(with_index, "with_index"),
        "compress": one_of(compress, "compress", (None, "none", "deflate")),
        "verify": flag(verify, "verify"),
        "io": one_of(io, "io", ("auto", "direct", "buffered")),
        "overwrite": flag(overwrite, "overwrite"),
        "dry_run": flag(dry_run, "dry_run"),
        "jobs": whole_number(jobs, "jobs"),
        "memory": byte_size(memory, "memory"),
    }
    result = _run(words, _shale.convert, words, _callback(progress))
    facts = result["facts"]
    verification = facts.get("verification")
    made = ConvertResult(
        output=_unescaped(facts["output"]),
        fields=_fields(facts),
        first_skipped=tuple(
            SkippedImage(_unescaped(each["key"]), each["reason"], _unescaped(each["detail"])) for each in facts["first_skipped"]
        ),
        index=None if facts.get("index") is None else _unescaped(facts["index"]),
        images=facts.get("images", {}),
        was_compared=facts.get("was_compared", False),
        content_digest=facts.get("content_digest"),
        ordered_digest=facts.get("ordered_digest"),
        key_digest=facts.get("key_digest"),
        verification=None if verification is None else _verify_result(verification),
        notes=result["notes"],
        **_take(facts, "format samples bytes shards file_bytes classes skipped ignored dry_run was_complete"),
    )
    if made.verification is not None:
        made.verification.raise_if_damaged()
    return made


def verify(
    dataset: Path,
    *,
    quick: bool = False,
    full: bool = False,
    deep: bool = False,
    against: Union[None, Paths, Mapping[str, Paths]] = None,
    labels: Optional[Path] = None,
    index_dir: Optional[Path] = None,
    jobs: Optional[int] = None,
    memory: Union[None, int, str] = None,
    progress: Progress = None,
) -> VerifyResult:
    """Verifies that a dataset is intact, or says exactly what is damaged: the command ``shale verify``.

    Args:
        dataset: a dataset, or a file of another tool.
        quick: check the manifest, sizes and index shapes; do not read the payload.
        full: the default: also every block, every checksum and the structure of the container.
        deep: also recompute the digests, decode the images, and ask the container's own library.
        against: the folder, dataset or arrays that must hold the same samples; a mapping of names to paths for columns.
        labels: of a flat folder given as ``against``.
        index_dir: for a file of another tool, the directory of its index.
        jobs, memory: same as for ``convert``.
        progress: called as ``progress(done, total)`` in bytes; see ``convert``.

    Returns:
        What was found. Damage does not raise: ask ``result.ok``, or call ``result.raise_if_damaged()``. The GIL is released.

    Raises:
        shale.errors.UsageError: an argument is invalid, or contradicts another.
        shale.errors.NotFoundError, UnsupportedError, MismatchError: there is no finished dataset.
        shale.errors.StorageError: the storage failed.
    """
    depths = [name for name, given in (("quick", quick), ("full", full), ("deep", deep)) if flag(given, name)]
    if len(depths) > 1:
        raise UsageError(f"{' and '.join(depths)} exclude one another")
    if labels is not None and against is None:
        raise UsageError("labels needs against, the folder that the labels belong to")
    words = {
        "dataset": path_bytes(dataset, "dataset"),
        "depth": depths[0] if depths else "full",
        "against": [] if against is None else inputs(against, "against"),
        "labels": _maybe_path(labels, "labels"),
        "index_dir": _maybe_path(index_dir, "index_dir"),
        "jobs": whole_number(jobs, "jobs"),
        "memory": byte_size(memory, "memory"),
    }
    return _verify_result(_run(words, _shale.verify, words, _callback(progress))["facts"])


def info(dataset: Path, *, index_dir: Optional[Path] = None, parse: Optional[str] = None) -> DatasetInfo:
    """What a dataset holds, from its manifest: the command ``shale info``.

    Args:
        dataset: a dataset, or a file of another tool.
        index_dir: for a file of another tool, the directory of its index.
        parse: of an LMDB file: ``"plain"`` or ``"msgpack"``; see ``convert``.

    Raises:
        shale.errors.NotFoundError, UnsupportedError, DamagedError: there is no dataset, or its manifest is damaged.
    """
    words = {
        "dataset": path_bytes(dataset, "dataset"),
        "index_dir": _maybe_path(index_dir, "index_dir"),
        "parse": one_of(parse, "parse", (None, "plain", "msgpack")),
    }
    facts = _run(words, _shale.info, words)["facts"]
    if not facts["complete"]:
        return DatasetInfo(complete=False)
    known = set(DatasetInfo.__dataclass_fields__)
    plain = {name: value for name, value in facts.items() if name in known}
    plain.update(
        fields=_fields(facts),
        class_names=tuple(_unescaped(name) for name in facts["class_names"]),
        notes=tuple(facts.get("notes", ())),
    )
    return DatasetInfo(**plain)


def index(
    *files: Path,
    index_dir: Optional[Path] = None,
    crc: bool = False,
    parse: Optional[str] = None,
    memory: Union[None, int, str] = None,
    progress: Progress = None,
) -> IndexResult:
    """Indexes files of other tools, or rebuilds the lost indexes and block lists of a dataset: the command ``shale index``.

    Args:
        files: LMDB, HDF5, TFRecord or .npy files, or directories of an LMDB; or one dataset of shale.
        index_dir: the directory of the indexes; default: beside each file.
        crc: read the payload too, to add checksums, block hashes and digests.
        parse: of LMDB files: ``"plain"`` or ``"msgpack"``; see ``convert``. Default: what an existing index says, or ``"plain"``.
        memory: memory budget; see ``convert``.
        progress: called as ``progress(done, total)`` for each file; see ``convert``.

    Raises:
        shale.errors.UsageError: an argument is invalid, or contradicts another.
        shale.errors.DamagedError: a file or a shard is damaged; indexes of the other shards were rebuilt.
        shale.errors.NotFoundError, UnsupportedError: there is no such file, or shale cannot read it.
        shale.errors.StorageError: the storage failed.
    """
    paths = [path for file in files for path in path_list(file, "files")]
    if not paths:
        raise UsageError("files is empty, expected paths")
    found = [_shale.file_of_path(path) for path in paths]
    if len(paths) == 1 and found[0] is None:
        for name, value in (("index_dir", index_dir), ("parse", parse), ("crc", crc or None)):
            if value is not None:
                raise UsageError(f"{name} is for files of other tools, but the input is a shale dataset")
        return _rebuild(paths[0], progress)
    words = {
        "index_dir": _maybe_path(index_dir, "index_dir"),
        "crc": flag(crc, "crc"),
        "parse": one_of(parse, "parse", (None, "plain", "msgpack")),
        "memory": byte_size(memory, "memory"),
    }
    for path, file in zip(paths, found):
        if file is None:
            raise NotFoundError(f"{os.fsdecode(path)} is neither a file nor the directory of an LMDB; a shale dataset is indexed alone")
    if words["index_dir"] is not None:
        _refuse_equal_names([file for file in found if file is not None])
    done = []
    for file in found:
        of_file = {**words, "file": file}
        facts = _run(of_file, _shale.index_file, of_file, _callback(progress))["facts"]
        done.append(
            IndexedFile(
                index=_unescaped(facts["index"]),
                fields=_fields(facts),
                content_digest=facts["content_digest"],
                notes=tuple(facts["notes"]),
                **_take(facts, "format samples bytes checksums"),
            )
        )
    return IndexResult(files=tuple(done))


def formats() -> Tuple[FormatInfo, ...]:
    """The formats that ``convert`` writes, and what each can hold: the command ``shale formats``."""
    return tuple(
        FormatInfo(facts["name"], facts["summary"], tuple(facts["suffixes"]), tuple(facts["kinds"]), facts["self_checksummed"])
        for facts in json.loads(_shale.formats())["formats"]
    )


# --- running


def _run(words: dict, command: Callable[..., Dict[str, Any]], *arguments: Any) -> Dict[str, Any]:
    in_python = Translation(words)
    try:
        result = command(*arguments)
    except Error as error:
        if is_of_the_program(error):
            in_python.apply_to(error)
        raise
    result["facts"] = json.loads(result["facts"])
    result["notes"] = tuple(map(in_python, result["notes"]))
    return result


def _rebuild(dataset: bytes, progress: Progress) -> IndexResult:
    facts = _run({"dataset": dataset}, _shale.rebuild_index, dataset, _callback(progress))["facts"]
    shards = tuple(RebuiltShard(**shard) for shard in facts["shards"])
    broken = [shard for shard in shards if shard.fault]
    if broken:
        error = DamagedError(f"{os.fsdecode(dataset)}: {broken[0].name} was not rebuilt: {broken[0].fault}")
        error.shard = broken[0].name
        error.hint = "copy the shard again from an intact copy of the dataset"
        raise error
    return IndexResult(shards=shards, whole=facts["whole"], rebuilt=facts["rebuilt"])


def _callback(progress: Progress) -> Progress:
    if progress is not None and not callable(progress):
        raise UsageError(f"progress is {progress!r}, expected a function of (done, total)")
    return progress


def _maybe_path(value: Optional[Path], name: str) -> Optional[bytes]:
    return None if value is None else path_bytes(value, name)


def _allowance(value: Union[int, str]) -> str:
    return text(value, "max_errors") if isinstance(value, str) else str(whole_number(value, "max_errors"))


def _refuse_equal_names(paths: List[bytes]) -> None:
    names = [os.path.basename(path) for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"two files are named {os.fsdecode(name)!r}: their indexes would overwrite each other in index_dir")


# --- results


def _take(facts: dict, names: str) -> Dict[str, Any]:
    return {name: facts[name] for name in names.split()}


def _fields(facts: dict) -> Tuple[FieldInfo, ...]:
    return tuple(
        FieldInfo(each["name"], each["kind"], each.get("dtype"), tuple(each["shape"]) if "shape" in each else None)
        for each in facts["fields"]
    )


def _verify_result(facts: dict) -> VerifyResult:
    opinion = facts.get("second_opinion")
    return VerifyResult(
        first_findings=tuple(_finding(each) for each in facts["first_findings"]),
        second_opinion=None if opinion is None else SecondOpinion(**opinion),
        notes=tuple(facts["notes"]),
        **_take(facts, "ok shards samples bytes findings bad_when_written undecoded"),
    )


def _finding(facts: dict) -> Finding:
    named: Dict[str, Any] = {name: _unescaped(facts[name]) for name in ("file", "key") if name in facts}
    return Finding(**{**facts, **named})


# What the program escapes where it prints names: see "printable" in docs/json.md.
_ESCAPED = re.compile(rb"\\(?:x([0-9a-f]{2})|(.))")


def _unescaped(name: str) -> str:
    """A name as Python has it: bytes that are not UTF-8 are escaped with ``surrogateescape``."""

    def byte(match: Any) -> bytes:
        return bytes([int(match[1], 16)]) if match[1] else {b"n": b"\n", b"t": b"\t"}.get(match[2], match[2])

    return _ESCAPED.sub(byte, name.encode()).decode("utf-8", "surrogateescape")
