"""What the commands of the program return as functions, and how it is made of the program's facts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional, Tuple, Type, TypeVar

from shale.errors import DamagedError

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class FieldInfo:
    """A field of a dataset's schema."""

    name: str
    kind: str  #: ``"bytes"``, ``"text"``, ``"integer"``, ``"real"``, ``"tensor"`` or ``"list"``
    dtype: Optional[str] = None  #: NumPy's description, such as ``"<f4"``, where all values have one
    shape: Optional[Tuple[int, ...]] = None  #: of one value, where all have one
    type: Optional[str] = None  #: in words, as ``shale info`` prints it: ``"float32 (4, 5)"``


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
class SourceComparison:
    """What a dataset and the source that it was compared with (``against``) have in common."""

    #: ``"same"``, ``"other_order"``, ``"other_fields"``, ``"source_has_more"``, ``"one_of_several"``: all is well;
    #: ``"damaged"``, ``"incomplete"``, ``"other_keys"``, ``"different"``, ``"another_source"``: see docs/commands.md
    verdict: str
    same: int  #: samples that both have
    different: int  #: samples of the same key with other values
    not_in_source: int
    not_in_dataset: int
    skipped: int  #: samples of the source that the dataset's ``skipped.csv`` lists
    findings: int  #: of those of the result


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
    comparison: Optional[SourceComparison]  #: with ``against``, where it came to its end
    strays: Tuple[str, ...]  #: files beside the dataset that are not part of it: the first 1,000
    notes: Tuple[str, ...]  #: what could not be verified, a sentence each
    splits: Mapping[str, VerifyResult] = field(default_factory=dict)  #: of a dataset per split: each of them, by name; all else is their sum
    parts: Mapping[str, VerifyResult] = field(default_factory=dict)  #: of inputs that are joined: those that were verified, by name
    part: Optional[Mapping[str, int]] = None  #: with ``sample``: ``number`` of ``count``, ``bytes`` of ``all_bytes``
    sums: Optional[Mapping[str, Any]] = None  #: of checksums: ``files``, ``missing``, ``different``, ``additional``, with ``export`` ``lines``
    without_partner: int = 0  #: of inputs that are joined: samples that not all of them have; with ``partners`` they do not count as findings

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
class ArrayInfo:
    """An array in a file of another tool: a dataset of HDF5, a member of an ``.npz`` archive, a tensor."""

    path: str
    type: str  #: its dtype, or in words what it holds
    shape: Tuple[int, ...]
    stored_bytes: int
    compression: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)  #: with short values
    obstacle: Optional[str] = None  #: why no field can hold it


@dataclass(frozen=True)
class DatasetInfo:
    """What a dataset is, from its manifest: the members of ``shale info --json`` (docs/json.md)."""

    complete: bool  #: False: a run is unfinished, and everything else is empty; or there are ``bad_files``
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
    bad_files: Tuple[str, ...] = ()  #: files that are missing, or of another size than the manifest says: the first 1,000
    skipped: int = 0  #: images that were left out, listed in ``skipped.csv``
    ignored: int = 0  #: entries of the folder that are not samples, listed in ``ignored.csv``
    images: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  #: ``{"types": {"jpeg": 7}, "odd": {"gray": 1}}``
    source: Mapping[str, Any] = field(default_factory=dict)  #: kind, samples, bytes and fingerprint of the input
    options: Mapping[str, str] = field(default_factory=dict)  #: those that shaped the bytes
    content_digest: Optional[str] = None  #: hexadecimal; None: the payload of a file of another tool was never read
    ordered_digest: Optional[str] = None
    key_digest: Optional[str] = None  #: None also where keys are only numbers
    indexed: bool = True  #: False: a file of another tool, surveyed for this call alone
    layout: Optional[str] = None  #: of a file of a known program: ``"coclr"``, ``"caffe"``, ``"vlen"`` ... (docs/foreign.md)
    notes: Tuple[str, ...] = ()
    arrays: Tuple[ArrayInfo, ...] = ()  #: of a file of named arrays (HDF5, ``.npz``, ``.pt``, ``.safetensors``): all of them
    commands: Tuple[str, ...] = ()  #: that convert such a file, one per table
    obstacle: Optional[str] = None  #: why such a file is not read in place; then there is little else
    splits: Mapping[str, DatasetInfo] = field(default_factory=dict)  #: of a dataset per split: each of them, by name, and nothing else


@dataclass(frozen=True)
class SkippedImage:
    """An image that ``convert`` left out."""

    key: str
    reason: str  #: ``"empty"``, ``"unknown-type"``, ``"truncated"``, ``"no-pixels"``, ``"damaged"``, ``"too-large"``, ``"too-small"``, ``"unsupported"``, ``"missing-partner"``, ``"missing-row"``, ``"not-text"``, ``"not-array"``, ``"damaged-input"`` or ``"other"``
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
    index: Optional[str]  #: of one file, ``with_index``: the manifest next to it
    lists: Mapping[str, int]  #: with ``split``: the text files for the readers of the layout, and how many rows each has
    appended: Optional[int]  #: samples that ``append`` added; everything else describes the whole dataset
    dry_run: bool
    was_complete: bool  #: the output was finished before: nothing was done
    was_compared: bool  #: and the input is newer: its content was compared, and is the same
    content_digest: Optional[str]
    ordered_digest: Optional[str]
    key_digest: Optional[str]
    verification: Optional[VerifyResult]  #: with ``verify``
    notes: Tuple[str, ...]
    splits: Mapping[str, ConvertResult]  #: of a dataset per split: each of them, by name; all else is their sum, or that of the first


@dataclass(frozen=True)
class IndexedFile:
    """A file of another tool, and its index."""

    index: str  #: path of the index's manifest
    format: str
    samples: int
    bytes: Optional[int]  #: of payload; None in a dry run
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
class RepairedFile:
    """A file of a dataset that was missing or damaged."""

    name: str
    fault: str  #: what was wrong with it
    remedy: str  #: ``"copied"``, ``"made_again"``, ``"rebuilt"`` or ``"none"``
    obstacle: Optional[str] = None  #: why there was no remedy


@dataclass(frozen=True)
class RepairResult:
    """The result of ``repair``. It is true if no file is damaged any more."""

    checked: int  #: files of the dataset
    repaired: int
    left: int  #: files that are still damaged
    dry_run: bool
    files: Tuple[RepairedFile, ...]  #: those that were missing or damaged
    strays: Tuple[str, ...]  #: files beside the dataset that are not part of it, and were left alone: the first 1,000

    def __bool__(self) -> bool:
        return self.left == 0


@dataclass(frozen=True)
class NativeIndex:
    """The files by which another program finds the samples of the tars in a folder."""

    kind: str  #: ``"wids"``, ``"dali"`` or ``"energon"``
    path: str  #: what that program is given: ``wids.json``; the folder
    written: int  #: files
    kept: int  #: files that were there, with the same content


@dataclass(frozen=True)
class IndexResult:
    """The result of ``index``: of files of other tools, or of one dataset."""

    files: Tuple[IndexedFile, ...] = ()
    native: Tuple[NativeIndex, ...] = ()
    shards: Tuple[RebuiltShard, ...] = ()
    whole: int = 0  #: shards whose lists were intact
    rebuilt: int = 0
    dry_run: bool = False


@dataclass(frozen=True)
class PartInfo:
    """A part of a run, as ``parts`` found it."""

    path: str
    index: int  #: which part, from 0
    state: str  #: ``"complete"``, ``"unfinished"``, ``"damaged"`` or ``"of_another_run"``
    fault: Optional[str] = None  #: what is wrong with it


@dataclass(frozen=True)
class PartsResult:
    """The result of ``parts``."""

    count: int  #: how many parts the run has
    complete: bool  #: all of them are complete
    missing: Tuple[int, ...]  #: those that are absent, unfinished, damaged or of another run
    array: str  #: the same as ``sbatch --array`` takes them: ``"3,7-9"``
    parts: Tuple[PartInfo, ...]  #: those that are there


@dataclass(frozen=True)
class MergeResult:
    """The result of ``merge``."""

    output: str
    format: str
    samples: int
    bytes: int  #: of payload
    shards: int
    parts: int
    dry_run: bool
    was_complete: bool  #: they had been merged before
    moved: bool
    linked_files: int
    copied_files: int
    copied_bytes: int
    content_digest: str
    ordered_digest: str
    key_digest: Optional[str]
    notes: Tuple[str, ...]


@dataclass(frozen=True)
class FormatInfo:
    """A format that ``convert`` writes."""

    name: str
    summary: str
    suffixes: Tuple[str, ...]  #: of its files
    kinds: Tuple[str, ...]  #: of fields that it can hold
    self_checksummed: bool  #: the container carries checksums of its own


# --- made of facts


def of_facts(kind: Type[_Result], facts: Mapping[str, Any], **made: Any) -> _Result:
    """A result whose members are the facts of the same name, but for those that are given; a list is a tuple, and what is not known is None."""
    found = {name: facts.get(name) for name in kind.__dataclass_fields__ if name not in made}  # type: ignore[attr-defined]
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in found.items()}, **made)


def fields_of(facts: dict) -> Tuple[FieldInfo, ...]:
    return tuple(of_facts(FieldInfo, each) for each in facts["fields"])


def verify_result(facts: dict) -> VerifyResult:
    splits, parts = ({name: verify_result(each) for name, each in facts.get(kind, {}).items()} for kind in ("splits", "parts"))
    opinion, comparison = facts.get("second_opinion"), facts.get("comparison")
    return of_facts(
        VerifyResult,
        facts,
        first_findings=tuple(map(finding, facts.get("first_findings", ()))) or tuple(one for each in splits.values() for one in each.first_findings),
        bad_when_written=facts.get("bad_when_written", sum(each.bad_when_written for each in splits.values())),
        undecoded=facts.get("undecoded", sum(each.undecoded for each in splits.values())),
        second_opinion=opinion and of_facts(SecondOpinion, opinion),
        comparison=comparison and of_facts(SourceComparison, comparison),
        strays=tuple(map(unescaped, facts.get("strays", ()))),
        part=facts.get("part"),
        sums=facts.get("sums"),
        notes=tuple(facts.get("notes", ())) or tuple(note for each in splits.values() for note in each.notes),
        splits=splits,
        parts=parts,
        without_partner=facts.get("without_partner", 0),
    )


def array_info(facts: dict) -> ArrayInfo:
    known = {name: value for name, value in facts.items() if name in ArrayInfo.__dataclass_fields__}
    known.update(path=unescaped(facts["path"]), shape=tuple(facts["shape"]))
    return ArrayInfo(**known)


def dataset_info(facts: dict) -> DatasetInfo:
    arrays: Dict[str, Any] = {"arrays": tuple(map(array_info, facts.get("arrays", ()))), "commands": tuple(facts.get("commands", ()))}
    if "obstacle" in facts:
        samples = facts.get("samples", 0)
        return DatasetInfo(complete=facts["complete"], format=facts["format"], samples=samples, obstacle=facts["obstacle"], **arrays)
    if "splits" in facts or "samples" not in facts:
        return DatasetInfo(complete=facts["complete"], splits={name: dataset_info(each) for name, each in facts.get("splits", {}).items()})
    known = {name: value for name, value in facts.items() if name in DatasetInfo.__dataclass_fields__}
    known.update(arrays)
    known.update(fields=fields_of(facts), class_names=tuple(map(unescaped, facts["class_names"])), notes=tuple(facts.get("notes", ())))
    known.update(bad_files=tuple(map(unescaped, facts.get("bad_files", ()))))
    return DatasetInfo(**known)


def finding(facts: dict) -> Finding:
    return of_facts(Finding, facts, **{name: unescaped(facts[name]) for name in ("file", "key") if name in facts})


# What the program escapes where it prints names: see "printable" in docs/json.md.
_ESCAPED = re.compile(rb"\\(?:x([0-9a-f]{2})|(.))")


def unescaped(name: str) -> str:
    """A name as Python has it: bytes that are not UTF-8 are escaped with ``surrogateescape``."""

    def byte(match: Any) -> bytes:
        return bytes([int(match[1], 16)]) if match[1] else {b"n": b"\n", b"t": b"\t"}.get(match[2], match[2])

    return _ESCAPED.sub(byte, name.encode()).decode("utf-8", "surrogateescape")
