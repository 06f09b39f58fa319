"""The commands of the program as functions: the same arguments, the same bytes, results with types."""

from __future__ import annotations

import json
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple, Union

from shale import _shale
from shale._arguments import (
    PARSE,
    ImageRules,
    Parts,
    Path,
    Paths,
    Split,
    byte_size,
    chosen_fields,
    field_names,
    flag,
    image_rules,
    inputs,
    one_of,
    part_text,
    path_bytes,
    path_list,
    split_words,
    text,
    whole_number,
)
from shale._program import Translation, is_of_the_program
from shale._results import (
    ConvertResult,
    DatasetInfo,
    FormatInfo,
    IndexedFile,
    IndexResult,
    MergeResult,
    PartInfo,
    PartsResult,
    RebuiltShard,
    RepairedFile,
    RepairResult,
    SkippedImage,
    VerifyResult,
    fields_of,
    take,
    unescaped,
    verify_result,
)
from shale.errors import DamagedError, Error, NotFoundError, UsageError

Progress = Optional[Callable[[int, int], Any]]


def _column(value: Optional[str], name: str, labels: Optional[Path]) -> Optional[str]:
    if value is None:
        return None
    if labels is None:
        raise UsageError(f"{name} needs labels, the file that has the column")
    return text(value, name)


def convert(
    source: Union[Paths, Mapping[str, Paths]],
    output: Path,
    to: Optional[str] = None,
    *,
    shard_size: Union[None, int, str] = None,
    shard_samples: Optional[int] = None,
    fields: Union[None, str, List[str], Tuple[str, ...]] = None,
    labels: Optional[Path] = None,
    label_column: Optional[str] = None,
    key_column: Optional[str] = None,
    classes_from: Optional[Path] = None,
    select: Optional[Path] = None,
    exclude: Optional[Path] = None,
    split: Split = None,
    shuffle: bool = False,
    seed: Optional[int] = None,
    parse: Optional[str] = None,
    index_dir: Optional[Path] = None,
    ext: Union[None, str, List[str], Tuple[str, ...]] = None,
    pairs: Optional[str] = None,
    hidden: Optional[str] = None,
    group: Optional[str] = None,
    resize: ImageRules = None,
    only_larger: bool = False,
    crop: ImageRules = None,
    encode: ImageRules = None,
    quality: ImageRules = None,
    apply_rotation: bool = False,
    strip_metadata: bool = False,
    masks: Union[None, str, List[str], Tuple[str, ...]] = None,
    allow_empty: bool = False,
    on_error: Optional[str] = None,
    max_errors: Union[None, int, str] = None,
    append: bool = False,
    new_classes: Optional[str] = None,
    parts: Parts = None,
    part_offset: Optional[int] = None,
    listing: Optional[Path] = None,
    with_index: bool = False,
    compress: Optional[str] = None,
    layout: Optional[str] = None,
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
        source: a folder with one folder of images for each class, a folder of such folders named ``train``, ``val``, ``test`` (each
            becomes a dataset in ``output``), a flat folder (with ``labels``), a dataset, a file of
            another tool, an .npy or .npz file, or a list of arrays to concatenate. A mapping of names to paths
            makes columns: ``{"x": "x.npy", "y": "y.npy"}``; of names to folders, samples of the files that have the same
            folder and name before the first dot: ``{"image": "photos", "mask": "masks"}``.
        output: the directory of shards to write. A name that ends in .npy, .npz, .pt, .safetensors, .lmdb, .h5, .hdf5 or
            .tfrecord is one file of any size instead, without a manifest.
        to: the format, such as ``"record"``; see ``formats()``. Default: that of the suffix of ``output``.
        shard_size: the maximum size of any file of a shard: bytes, or a string such as ``"64MiB"``. Default: 1 GiB.
        shard_samples: the maximum number of samples in a shard.
        fields: take only these fields of a dataset or of arrays, in this order.
        labels: of a flat folder: a CSV, TSV or JSON lines file of path,label, with class names or integers; or a known list of ILSVRC:
            Kaggle's ``LOC_val_solution.csv``, or the devkit's ground truth beside its ``meta.mat`` or ``map_clsloc.txt``.
        label_column, key_column: the columns of ``labels`` that have the label and name the file.
        pairs: ``"on"``: files with the same name as an image before the first dot (``1.txt`` beside ``1.jpg``) become fields of its sample;
            ``"off"``: they do not, and neither do the columns of ``metadata.csv`` and ``metadata.jsonl``. Default: where every image has them.
        classes_from: take the class table from another dataset, or from a file with one name per line.
        select: take only the samples that this file lists, in the order of the source: a key or row number per line, or
            an .npy file of rows. The manual page of ``shale convert`` tells how lines are read.
        exclude: leave out the samples that this file lists.
        split: write a dataset for each name, ``output/train``, ``output/val``: ``{"train": 0.9, "val": 0.1}`` takes a share of each
            class, ``{"train": "train.txt", "val": "val.txt"}`` the samples that files list, as ``select`` does. A string is as on the
            command line. With ``layout="coclr"``: the lists that its readers want.
        shuffle: write the samples in a shuffled order.
        seed: of ``shuffle``, and of shares in ``split``; default 0.
        parse: of an LMDB file: ``"plain"`` makes each value one field, ``"msgpack"`` the entries of the map that it holds,
            ``"pickle"`` what it pickles, of plain data; ``"coclr"``, ``"lyken-old"``, ``"caffe"``, ``"xunge"``, ``"thecml"``,
            ``"tensorpack"`` and ``"lsun"`` are layouts of known programs. Default, as ``"auto"``: what its index says, else the layout that it has,
            else ``"plain"``.
        index_dir: for a file of another tool, the directory of its index.
        ext: suffixes such as ``["mp4", "wav"]`` or ``"mp4,wav"``: the files of a folder that have one are the samples, whatever
            they hold, instead of images. The field is ``video`` if all are suffixes of videos, ``audio`` if all are of sound, else ``data``.
        hidden: ``"skip"`` or ``"keep"``: files and folders that begin with a dot.
        group: ``"frames"``: a folder ``INPUT/class/video`` of images is one sample, the list of its frames in natural order.
        resize: ``"shorter=256"``, ``"longer=512"``, ``"fit=640x480"`` or ``"exact=224x224"``. A mapping gives each image field a
            rule of its own, ``{"image": "shorter=256", "mask": "exact=256x256"}``; so it does for ``crop``, ``encode`` and ``quality``.
            Without image work the bytes of images pass untouched (docs/images.md).
        only_larger: with ``resize``: leave smaller images as they are.
        crop: ``"center=224x224"``, after ``resize``.
        encode: ``"keep"`` (default: JPEG stays JPEG, PNG stays PNG, the rest becomes PNG), ``"jpeg"``, ``"png"`` or ``"raw"``: pixels,
            (H, W, 3) uint8, which need ``resize="exact=..."`` or ``crop``.
        quality: of JPEGs that are written, 1 to 100; default 90.
        apply_rotation: turn the pixels as the EXIF orientation says.
        strip_metadata: leave out EXIF, comments and other metadata.
        masks: the image fields that are label maps: nearest pixel, never lossy. Default: ``mask`` and names that end in ``_mask``.
        allow_empty: accept classes without images, and an input without images.
        on_error: what to do with images that are empty, truncated or not images: ``"skip"`` (default), ``"keep"`` or ``"fail"``.
        max_errors: fail if more images than this are bad: a number, or a share such as ``"1%"`` (default; at least 10).
        append: write the samples behind those of the finished dataset at ``output``. Format and size of the shards are, if not
            given, those of that dataset; its files stay as they are, and whoever has it open goes on reading it.
        new_classes: with ``append``: ``"append"`` adds classes that the dataset does not have behind its others.
        parts: write only part ``index`` of ``count`` (from 0), ``(index, count)``, into ``part-INDEX-of-COUNT`` in ``output``;
            ``merge`` joins the parts. A string takes both from the environment: ``"slurm"``, ``"slurm/128"`` (the number of all
            parts, for a job array of some of them) or ``"mpi"``.
        part_offset: with ``"slurm/N"``, the part that task 0 makes, where several job arrays make the parts.
        listing: of a folder: a file with the list of its files, which several calls share. The first one makes it.
        with_index: for one file: write its index beside it in the same pass.
        layout: of an .lmdb output: ``"coclr"``, ``"xunge"`` or ``"caffe"`` writes the file for readers of that layout (docs/foreign.md).
            ``"lsun"`` makes ``output`` a directory with one LMDB directory per class, for ``torchvision.datasets.LSUN``.
            Of an .h5 output: ``"vlen"`` or ``"fixed"`` writes ``images`` (N) of variable length, or (N, H, W, 3) uint8 pixels of JPEG and PNG images
            that all have one size, and ``labels`` (N) int64; ``"flat"`` is the default, one flat dataset and offsets.
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

    The same call does nothing if the output is finished, and continues a directory of shards that is not. A call that
    is stopped, by KeyboardInterrupt or a signal, leaves no finished dataset; its complete shards remain, and the same
    call, or the same command, goes on with them. The GIL is released.

    Raises:
        shale.errors.UsageError: an argument is invalid, or contradicts another.
        shale.errors.MismatchError: the output exists and holds something else.
        shale.errors.ContentError, LimitError: an image is bad with ``on_error="fail"``, or more are than ``max_errors`` allows.
        shale.errors.NotFoundError, UnsupportedError, SchemaError, DamagedError: about the source, or with ``verify`` the result.
        shale.errors.StorageError: the storage failed, or has too little free space.
    """
    words = {
        "inputs": inputs(source, "source"),
        "output": path_bytes(output, "output"),
        "to": None if to is None else text(to, "to"),
        "shard_size": byte_size(shard_size, "shard_size"),
        "shard_samples": whole_number(shard_samples, "shard_samples"),
        "fields": chosen_fields(fields),
        "labels": _maybe_path(labels, "labels"),
        "label_column": _column(label_column, "label_column", labels),
        "key_column": _column(key_column, "key_column", labels),
        "classes_from": _maybe_path(classes_from, "classes_from"),
        "select": _maybe_path(select, "select"),
        "exclude": _maybe_path(exclude, "exclude"),
        "split": split_words(split, "split"),
        "shuffle": flag(shuffle, "shuffle"),
        "seed": whole_number(seed, "seed"),
        "parse": one_of(parse, "parse", PARSE),
        "index_dir": _maybe_path(index_dir, "index_dir"),
        "ext": None if ext is None else ",".join(field_names(ext, "ext")),
        "pairs": one_of(pairs, "pairs", (None, "on", "off")),
        "hidden": one_of(hidden, "hidden", (None, "skip", "keep")),
        "group": one_of(group, "group", (None, "frames")),
        "resize": image_rules(resize, "resize"),
        "crop": image_rules(crop, "crop"),
        "encode": image_rules(encode, "encode"),
        "quality": image_rules(quality, "quality"),
        "masks": None if masks is None else ",".join(field_names(masks, "masks")),
        "only_larger": flag(only_larger, "only_larger"),
        "apply_rotation": flag(apply_rotation, "apply_rotation"),
        "strip_metadata": flag(strip_metadata, "strip_metadata"),
        "allow_empty": flag(allow_empty, "allow_empty"),
        "on_error": one_of(on_error, "on_error", (None, "skip", "keep", "fail")),
        "max_errors": None if max_errors is None else _allowance(max_errors),
        "append": flag(append, "append"),
        "new_classes": one_of(new_classes, "new_classes", (None, "append")),
        "parts": part_text(parts, "parts"),
        "part_offset": whole_number(part_offset, "part_offset"),
        "listing": _maybe_path(listing, "listing"),
        "with_index": flag(with_index, "with_index"),
        "layout": one_of(layout, "layout", (None, "coclr", "coclr-k400", "xunge", "caffe", "lsun", "flat", "vlen", "fixed")),
        "compress": one_of(compress, "compress", (None, "none", "deflate")),
        "verify": flag(verify, "verify"),
        "io": one_of(io, "io", ("auto", "direct", "buffered")),
        "overwrite": flag(overwrite, "overwrite"),
        "dry_run": flag(dry_run, "dry_run"),
        "jobs": whole_number(jobs, "jobs"),
        "memory": byte_size(memory, "memory"),
    }
    result = _run(words, _shale.convert, words, _callback(progress))
    made = _converted(result["facts"], result["notes"])
    for each in (made, *made.splits.values()):
        if each.verification is not None:
            each.verification.raise_if_damaged()
    return made


def _converted(facts: Dict[str, Any], notes: Tuple[str, ...]) -> ConvertResult:
    """Of one dataset, or of one for each split."""
    splits = {name: _converted(each, notes) for name, each in facts.get("splits", {}).items()}
    first = next(iter(splits.values()), None)
    verification = facts.get("verification")
    return ConvertResult(
        output=unescaped(facts["output"]),
        fields=first.fields if first else fields_of(facts),
        first_skipped=tuple(
            SkippedImage(unescaped(each["key"]), each["reason"], unescaped(each["detail"])) for each in facts.get("first_skipped", ())
        ),
        index=None if facts.get("index") is None else unescaped(facts["index"]),
        images=facts.get("images", {}),
        lists={each["file"]: each["rows"] for each in facts.get("lists", ())},
        appended=facts.get("appended", {}).get("samples"),
        was_compared=facts.get("was_compared", False),
        content_digest=facts.get("content_digest"),
        ordered_digest=facts.get("ordered_digest"),
        key_digest=facts.get("key_digest"),
        verification=None if verification is None else verify_result(verification),
        notes=notes,
        splits=splits,
        **take(facts, "format samples bytes shards file_bytes classes skipped ignored dry_run was_complete"),
    )


def verify(
    dataset: Path,
    *,
    quick: bool = False,
    full: bool = False,
    deep: bool = False,
    against: Union[None, Paths, Mapping[str, Paths]] = None,
    labels: Optional[Path] = None,
    label_column: Optional[str] = None,
    key_column: Optional[str] = None,
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
        against: the folder, dataset or arrays that must hold the same samples; a mapping of names to paths for columns, or for folders
            that are joined.
        labels: of a flat folder given as ``against``.
        label_column, key_column: as in :func:`convert`.
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
        "label_column": _column(label_column, "label_column", labels),
        "key_column": _column(key_column, "key_column", labels),
        "index_dir": _maybe_path(index_dir, "index_dir"),
        "jobs": whole_number(jobs, "jobs"),
        "memory": byte_size(memory, "memory"),
    }
    return verify_result(_run(words, _shale.verify, words, _callback(progress))["facts"])


def info(dataset: Path, *, index_dir: Optional[Path] = None, parse: Optional[str] = None) -> DatasetInfo:
    """What a dataset holds, from its manifest: the command ``shale info``.

    Args:
        dataset: a dataset, or a file of another tool.
        index_dir: for a file of another tool, the directory of its index.
        parse: how values of an LMDB file become fields; see ``convert``.

    Raises:
        shale.errors.NotFoundError, UnsupportedError, DamagedError: there is no dataset, or its manifest is damaged.
    """
    words = {
        "dataset": path_bytes(dataset, "dataset"),
        "index_dir": _maybe_path(index_dir, "index_dir"),
        "parse": one_of(parse, "parse", PARSE),
    }
    facts = _run(words, _shale.info, words)["facts"]
    if not facts["complete"]:
        return DatasetInfo(complete=False)
    known = set(DatasetInfo.__dataclass_fields__)
    plain = {name: value for name, value in facts.items() if name in known}
    plain.update(
        fields=fields_of(facts),
        class_names=tuple(unescaped(name) for name in facts["class_names"]),
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
        parse: how values of LMDB files become fields; see ``convert``.
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
    paths = [one for path in paths for one in (_shale.files_of_list(path) or [path])]
    found = [_shale.file_of_path(path) for path in paths]
    if len(paths) == 1 and found[0] is None:
        for name, value in (("index_dir", index_dir), ("parse", parse), ("crc", crc or None)):
            if value is not None:
                raise UsageError(f"{name} is for files of other tools, but the input is a shale dataset")
        return _rebuild(paths[0], progress)
    words = {
        "index_dir": _maybe_path(index_dir, "index_dir"),
        "crc": flag(crc, "crc"),
        "parse": one_of(parse, "parse", PARSE),
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
                index=unescaped(facts["index"]),
                fields=fields_of(facts),
                content_digest=facts["content_digest"],
                notes=tuple(facts["notes"]),
                **take(facts, "format samples bytes checksums"),
            )
        )
    return IndexResult(files=tuple(done))


def repair(
    dataset: Path,
    source: Union[Path, Mapping[str, Path]],
    *,
    labels: Optional[Path] = None,
    label_column: Optional[str] = None,
    key_column: Optional[str] = None,
    select: Optional[Path] = None,
    exclude: Optional[Path] = None,
    io: str = "auto",
    dry_run: bool = False,
    jobs: Optional[int] = None,
    memory: Union[None, int, str] = None,
    progress: Progress = None,
) -> RepairResult:
    """Replaces the damaged and missing files of a dataset, and no others: the command ``shale repair``.

    Args:
        dataset: the dataset, a directory.
        source: the option ``--from``: a copy of the dataset, or of some of its files; or what it was made from: only damaged
            shards are encoded again; a mapping of names to folders, if it was made from several. What takes a file's place has the hash that the manifest gives. A dataset that was
            appended to has several sources: pass one after the other.
        labels: of a source that is a flat folder: the file of its labels.
        label_column, key_column: as in :func:`convert`.
        select: of a dataset of chosen samples: the file that it was converted with.
        exclude: the same.
        io: ``"direct"`` writes bypass the page cache, ``"buffered"`` ones use it; ``"auto"`` chooses.
        dry_run: report what is damaged, and change nothing.
        jobs: number of threads; see ``convert``.
        memory: memory budget; see ``convert``.
        progress: called as ``progress(done, 0)`` with the number of files that were checked; see ``convert``.

    Raises:
        shale.errors.UsageError: an argument is invalid.
        shale.errors.NotFoundError: there is no such dataset or source.
        shale.errors.MismatchError: the dataset is unfinished, or was made from something else.
        shale.errors.UnsupportedError: the dataset cannot be made again from a source; a copy is needed.
        shale.errors.DamagedError: the manifest is damaged, and ``source`` is not a copy.
        shale.errors.StorageError: the storage failed, or has too little free space.
    """
    words = {
        "dataset": path_bytes(dataset, "dataset"),
        "source": inputs(source, "source") if isinstance(source, Mapping) else [path_bytes(source, "source")],
        "labels": _maybe_path(labels, "labels"),
        "label_column": _column(label_column, "label_column", labels),
        "key_column": _column(key_column, "key_column", labels),
        "select": _maybe_path(select, "select"),
        "exclude": _maybe_path(exclude, "exclude"),
        "io": one_of(io, "io", ("auto", "direct", "buffered")),
        "dry_run": flag(dry_run, "dry_run"),
        "jobs": whole_number(jobs, "jobs"),
        "memory": byte_size(memory, "memory"),
    }
    facts = _run(words, _shale.repair, words, _callback(progress))["facts"]
    files = tuple(RepairedFile(unescaped(each["name"]), each["fault"], each["remedy"], each.get("obstacle")) for each in facts["files"])
    return RepairResult(files=files, **take(facts, "checked repaired left dry_run"))


def parts(places: Paths, *, progress: Progress = None) -> PartsResult:
    """Tells which parts of a run are complete, and which have to be written (again): the command ``shale parts``.

    Args:
        places: a directory that holds parts, ``part-00003-of-00128``, or several; or the parts themselves.
        progress: see ``convert``.

    The manifest of each part is proved by its hash, and its files must be there with their sizes; payload is not read.

    Raises:
        shale.errors.NotFoundError: a place does not exist, or holds no parts.
        shale.errors.UsageError: a place is a dataset, but not a part of one.
        shale.errors.StorageError: the storage failed.
    """
    words = {"parts": path_list(places, "places")}
    facts = _run(words, _shale.parts, words, _callback(progress))["facts"]
    found = tuple(PartInfo(unescaped(each["path"]), each["index"], each["state"], each.get("fault")) for each in facts["parts"])
    return PartsResult(missing=tuple(facts["missing"]), parts=found, **take(facts, "count complete array"))


def merge(places: Paths, output: Path, *, move: bool = False, progress: Progress = None) -> MergeResult:
    """Joins the parts of a run into one dataset, without copying them: the command ``shale merge``.

    Args:
        places: a directory that holds parts, ``part-00003-of-00128``, or several; or the parts themselves.
        output: the directory of the dataset.
        move: remove the parts when the dataset is complete.
        progress: called as ``progress(done, total)`` in shards; see ``convert``.

    Files are linked (hard links): the parts stay as they are, and can be removed afterwards. Where that is not possible, they
    are copied, and proved by their hashes. Content, order and digests are those of one run over the whole input. The same call
    continues a merge that was stopped.

    Raises:
        shale.errors.MismatchError: parts are missing, unfinished, there twice or of another run; or the output holds something else.
        shale.errors.DamagedError: a part is damaged.
        shale.errors.SchemaError: samples of two parts have the same key.
        shale.errors.UsageError: the output is a part, or inside of one; or a place is not a part.
        shale.errors.NotFoundError: a place does not exist, or holds no parts.
        shale.errors.StorageError: the storage failed, or is full.
    """
    words = {"parts": path_list(places, "places"), "output": path_bytes(output, "output"), "move": flag(move, "move")}
    result = _run(words, _shale.merge, words, _callback(progress))
    facts = result["facts"]
    return MergeResult(
        output=unescaped(facts["output"]),
        notes=result["notes"],
        **take(facts, "format samples bytes shards parts was_complete moved linked_files copied_files copied_bytes"),
        **take(facts, "content_digest ordered_digest key_digest"),
    )


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
