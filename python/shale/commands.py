"""The commands of the program as functions: the same arguments, the same bytes, results with types."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from shale._arguments import ImageRules, Parts, Path, Paths, Split, inputs, path_bytes, path_list
from shale._places import JoinedPath, place_of, words_of_place
from shale._results import (
    ConvertResult,
    DatasetInfo,
    FormatInfo,
    IndexedFile,
    IndexResult,
    MergeResult,
    NativeIndex,
    PartInfo,
    PartsResult,
    RebuiltShard,
    RepairedFile,
    RepairResult,
    SkippedImage,
    VerifyResult,
    dataset_info,
    fields_of,
    of_facts,
    unescaped,
    verify_result,
)
from shale._words import Progress, run
from shale.errors import DamagedError


def convert(
    source: Union[Paths, Mapping[str, Paths]],
    output: Path,
    to: Optional[str] = None,
    *,
    shard_size: Union[None, int, str] = None,
    shard_samples: Optional[int] = None,
    row_group_size: Union[None, int, str] = None,
    shards: Optional[int] = None,
    fields: Union[None, str, List[str], Tuple[str, ...]] = None,
    drop: Union[None, str, List[str], Tuple[str, ...]] = None,
    rename: Union[None, str, Mapping[str, str]] = None,
    cast: Union[None, str, Mapping[str, Any]] = None,
    lossy: bool = False,
    axis: Union[None, str, Mapping[str, int]] = None,
    raw: Any = None,
    raw_offset: Optional[int] = None,
    labels: Optional[Path] = None,
    label_column: Optional[str] = None,
    key_column: Optional[str] = None,
    label_separator: Optional[str] = None,
    strip_prefix: Optional[str] = None,
    label_from: Optional[str] = None,
    classes_from: Optional[Path] = None,
    class_order: Optional[str] = None,
    select: Optional[Path] = None,
    exclude: Optional[Path] = None,
    keys: Optional[str] = None,
    classes: Union[None, str, List[str], Tuple[str, ...]] = None,
    limit: Optional[int] = None,
    split: Split = None,
    split_by: Optional[str] = None,
    split_group: Optional[str] = None,
    shuffle: bool = False,
    seed: Optional[int] = None,
    parse: Optional[str] = None,
    database: Union[None, str, List[str], Tuple[str, ...]] = None,
    index_dir: Optional[Path] = None,
    ext: Union[None, str, List[str], Tuple[str, ...]] = None,
    pairs: Optional[str] = None,
    on: Optional[str] = None,
    partners: Optional[str] = None,
    hidden: Optional[str] = None,
    group: Optional[str] = None,
    resize: ImageRules = None,
    only_larger: bool = False,
    crop: ImageRules = None,
    encode: ImageRules = None,
    quality: ImageRules = None,
    depth: Union[None, int, str] = None,
    alpha: Optional[str] = None,
    color: ImageRules = None,
    axes: Optional[str] = None,
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
    native: Union[None, str, List[str], Tuple[str, ...]] = None,
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
        output: the directory of shards to write. A name that ends in .npy, .npz, .pt, .safetensors, .lmdb, .h5, .hdf5,
            .tfrecord, .tar or .parquet is one file of any size instead, without a manifest.
        to: the format, such as ``"record"``; see ``formats()``. Default: that of the suffix of ``output``.
        shard_size: the maximum size of any file of a shard: bytes, or a string such as ``"64MiB"``. Default: 1 GiB.
        shard_samples: the maximum number of samples in a shard.
        row_group_size: (parquet) the most bytes of a row group, which readers load as a whole. Default: 100 MB.
        shards: so many shards, of all parts together, with as many samples each.
        fields: take only these fields, in this order. A folder of images has ``image`` and ``label``.
        drop: take all fields but these.
        rename: new names of fields: ``{"image": "images", "label": "labels"}``, or ``"standard"``, which calls ``image/encoded`` of TFRecord files ``image``. Options of image work take the new names.
        cast: other types for the numbers of fields: ``{"x": "float32", "y": np.uint16}``. Numbers that do not fit are refused.
        lossy: with ``cast``, numbers that do not fit become the nearest that do.
        axis: where the samples of arrays lie, if that is not their first axis: ``{"images": -1}``.
        raw: what files of numbers without a header hold, and the sides of a row: ``"uint16"``, ``"uint16,400"``, or a numpy dtype.
        raw_offset: with ``raw``, the bytes before the first row of each file.
        labels: of a flat folder: a CSV, TSV or JSON lines file of path,label, with class names or integers; or a known list of ILSVRC:
            Kaggle's ``LOC_val_solution.csv``, or the devkit's ground truth beside its ``meta.mat`` or ``map_clsloc.txt``. Annotations of COCO
            (a file), Pascal VOC or YOLO (a folder of files): boxes and categories of each image. ``"none"``: no labels at all.
        label_column, key_column: the columns of ``labels`` that have the label and name the file, by name or number. ``"a,b"``: each becomes a
            field; ``"label=a,b"``: one tensor of both.
        label_separator: what divides several labels in a cell; ``label`` is then a list of class numbers.
        strip_prefix: what the paths in ``labels`` begin with, and those of the files do not.
        label_from: instead of ``labels``, where the class is in the name of each file: ``"{label}_{*}.jpg"``, or a regular expression with a
            group ``(?P<label>...)``.
        pairs: ``"on"``: files with the same name as an image before the first dot (``1.txt`` beside ``1.jpg``) become fields of its sample;
            ``"bytes"``: the same, each as the bytes of its file; ``"off"``: they do not, and neither do the columns of ``metadata.csv`` and ``metadata.jsonl``. Default: where most images have them.
        classes_from: take the class table from another dataset, or from a file with one name per line.
        class_order: ``"natural"``: labels in the order of the numbers in the names of classes, 2 before 10; ``"number"``: the number
            that each name is. Default: bytewise, as torchvision sorts them.
        select: take only the samples that this file lists, in the order of the source: a key or row number per line, or
            an .npy file of rows, or a list that shale wrote (``duplicates.csv``). The manual page of ``shale convert`` tells how lines are read.
        exclude: leave out the samples that this file lists.
        keys: what the lines of both are: ``"escaped"`` keys, as ``shale ls`` prints them, ``"raw"`` ones, ``"nul"``: such that end in
            NUL, or ``"rows"``. Default: as the list itself tells.
        classes: take only the samples of these classes; no label changes.
        limit: take the first so many samples, for a trial; with ``shuffle`` so many that are drawn by its seed.
        split: write a dataset for each name, ``output/train``, ``output/val``: ``{"train": 0.9, "val": 0.1}`` takes a share of each
            class, ``{"train": "train.txt", "val": "val.txt"}`` the samples that files list, as ``select`` does. A string is as on the
            command line. With ``layout="coclr"``: the lists that its readers want.
        split_by: of an HDF5, .npz, .pt or .safetensors file: ``"prefix"`` writes a dataset for each split that arrays are named after:
            ``train_images`` and ``train/images`` are the field ``images`` of ``output/train``. ``"suffix"`` takes ``x_train``.
        split_group: with shares in ``split``: samples with one value of this field, or of this column of ``labels``, stay together.
        shuffle: write the samples in a shuffled order.
        seed: of ``shuffle``, and of shares in ``split``; default 0.
        parse: of an LMDB file: ``"plain"`` makes each value one field, ``"msgpack"`` the entries of the map that it holds,
            ``"pickle"`` what it pickles, of plain data; ``"coclr"``, ``"lyken-old"``, ``"caffe"``, ``"xunge"``, ``"thecml"``,
            ``"tensorpack"`` and ``"lsun"`` are layouts of known programs. Default, as ``"auto"``: what its index says, else the layout that it has,
            else ``"plain"``. ``"image=image-%09d, label=label-%09d, count=num-samples, from=1"``: entries of one sample are found
            by their keys; ``{key}`` instead of ``%09d`` is the key of the sample.
        database: of an LMDB file: the named database that is read; several are joined by key, a field each.
        index_dir: for a file of another tool, the directory of its index.
        ext: suffixes such as ``["mp4", "wav"]`` or ``"mp4,wav"``: the files of a folder that have one are the samples, whatever
            they hold, instead of images: ``npy`` are arrays, of ``npz``, ``pt`` and ``safetensors`` each array is a field. ``"any"`` are images, also
            without suffix. The field is ``video`` if all are suffixes of videos, ``audio`` if all are of sound, else ``data``.
        on: ``"row"`` or ``"key"``: how inputs with names, a mapping such as ``{"lq": "lq.lmdb", "gt": "gt.lmdb"}``, are joined.
            Default: by their order, and keys must agree (docs/foreign.md).
        partners: (``on="key"``, or folders with names) ``"all"``: samples that all inputs have; ``"any"``: those of the first, fields of others are None where
            they have none. Default: all; samples without partners are then in ``left_out``.
        hidden: ``"skip"`` or ``"keep"``: files and folders that begin with a dot.
        group: ``"frames"``: a folder ``INPUT/class/video`` of images is one sample, the list of its frames in natural order.
        resize: ``"shorter=256"``, ``"longer=512"``, ``"fit=640x480"`` or ``"exact=224x224"``. A mapping gives each image field a
            rule of its own, ``{"image": "shorter=256", "mask": "exact=256x256"}``; so it does for ``crop``, ``encode``, ``quality``
            and ``color``.
            Without image work the bytes of images pass untouched (docs/images.md).
        only_larger: with ``resize``: leave smaller images as they are.
        crop: ``"center=224x224"``, after ``resize``.
        encode: ``"keep"`` (default: JPEG stays JPEG, PNG stays PNG, the rest becomes PNG), ``"jpeg"``, ``"png"`` or ``"raw"``: pixels,
            (H, W, 3) uint8, (H, W) of gray images, uint16 of images of 16 bits. All must have one size: by themselves, or by ``resize`` or ``crop``.
        quality: of JPEGs that are written, 1 to 100; default 90.
        depth: bits of each channel in images that are changed: ``"keep"`` (default: images of 16 bits keep them), ``8`` or ``16``.
        alpha: of images that are changed: ``"keep"`` (default: a PNG keeps it, a JPEG and raw pixels are laid over white) or ``"white"``.
        color: channels of images that are changed: ``"keep"`` (default), ``"rgb"`` or ``"gray"``.
        axes: of ``encode="raw"``: ``"hwc"`` (default), or ``"chw"``: (3, H, W), of gray images (1, H, W).
        apply_rotation: turn the pixels as the EXIF orientation says.
        strip_metadata: leave out EXIF, comments and other metadata.
        masks: the image fields that are label maps: nearest pixel, never lossy. Default: ``mask`` and names that end in ``_mask``.
        allow_empty: accept classes without images, and an input without images.
        on_error: what to do with images that are empty, truncated or not images: ``"skip"`` (default), ``"keep"`` or ``"fail"``. Given,
            ``"skip"`` also leaves out samples of a dataset that are damaged.
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
        native: for tars: write the indexes by which other programs find samples, too: ``"wids"``, ``"dali"``, ``"energon"``, or several.
        layout: of an .lmdb output: ``"coclr"``, ``"xunge"`` or ``"caffe"`` writes the file for readers of that layout (docs/foreign.md).
            ``"basicsr"`` makes ``output`` a directory with ``data.mdb`` and ``meta_info.txt``, for BasicSR.
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
    given = locals()
    made = _converted(*run("convert", [*inputs(source, "source"), path_bytes(output, "output")], given, progress))
    for each in (made, *made.splits.values()):
        if each.verification is not None:
            each.verification.raise_if_damaged()
    return made


def _converted(facts: Dict[str, Any], notes: Tuple[str, ...]) -> ConvertResult:
    """Of one dataset, or of one for each split."""
    splits = {name: _converted(each, notes) for name, each in facts.get("splits", {}).items()}
    first = next(iter(splits.values()), None)
    verification = facts.get("verification")
    return of_facts(
        ConvertResult,
        facts,
        output=unescaped(facts["output"]),
        fields=first.fields if first else fields_of(facts),
        first_skipped=tuple(
            of_facts(SkippedImage, each, key=unescaped(each["key"]), detail=unescaped(each["detail"])) for each in facts.get("first_skipped", ())
        ),
        index=None if facts.get("index") is None else unescaped(facts["index"]),
        images=facts.get("images", {}),
        lists={each["file"]: each["rows"] for each in facts.get("lists", ())},
        appended=facts.get("appended", {}).get("samples"),
        was_compared=facts.get("was_compared", False),
        verification=verification and verify_result(verification),
        notes=notes,
        splits=splits,
    )


def verify(
    dataset: Any,
    *,
    quick: bool = False,
    full: bool = False,
    deep: bool = False,
    strict: bool = False,
    sample: Union[None, int, str] = None,
    report: Optional[Path] = None,
    export: Optional[str] = None,
    against: Union[None, Paths, Mapping[str, Paths]] = None,
    labels: Optional[Path] = None,
    label_column: Optional[str] = None,
    key_column: Optional[str] = None,
    label_separator: Optional[str] = None,
    strip_prefix: Optional[str] = None,
    label_from: Optional[str] = None,
    on: Optional[str] = None,
    partners: Optional[str] = None,
    ext: Union[None, str, List[str], Tuple[str, ...]] = None,
    pairs: Optional[str] = None,
    hidden: Optional[str] = None,
    group: Optional[str] = None,
    allow_empty: bool = False,
    axis: Union[None, str, Mapping[str, int]] = None,
    raw: Any = None,
    raw_offset: Optional[int] = None,
    index_dir: Optional[Path] = None,
    parse: Optional[str] = None,
    database: Union[None, str, List[str], Tuple[str, ...]] = None,
    jobs: Optional[int] = None,
    memory: Union[None, int, str] = None,
    progress: Progress = None,
) -> VerifyResult:
    """Verifies that a dataset is intact, or says exactly what is damaged: the command ``shale verify``.

    Args:
        dataset: a dataset, a file of another tool, several (a list), or inputs that are joined (a mapping): each of them, then the join.
        quick: check the manifest, sizes and index shapes; do not read the payload.
        full: the default: also every block, every checksum and the structure of the container.
        deep: also recompute the digests, decode the images, and ask the container's own library.
        strict: files beside the dataset that are not part of it are findings, too; else they are in ``notes`` and ``strays``.
        sample: verify a part of the blocks: ``"N/T"`` for part N of T; ``"5%"`` or a size, of which each day reads another part.
        report: a file, ``.tsv`` or ``.jsonl``, that gets a line for each finding.
        export: ``"sha256sum"``: the lines of that program for the files, in ``result.sums["lines"]``.
        against: the folder, dataset or arrays that must hold the same samples, or a list as sha256sum or md5sum writes it; a mapping of
            names to paths for columns, or for inputs that are joined.
        labels: of a flat folder given as ``against``.
        label_column, key_column, label_separator, strip_prefix, label_from: as in :func:`convert`.
        on, partners: how inputs with names are joined, as in :func:`convert`.
        ext, pairs, hidden, group, allow_empty: of a folder or archive that is not converted yet: which files are samples, as in :func:`convert`.
        axis: where the samples of arrays lie, if that is not their first axis: ``{"images": -1}``.
        raw: what files of numbers without a header hold, and the sides of a row: ``"uint16"``, ``"uint16,400"``, or a numpy dtype.
        raw_offset: with ``raw``, the bytes before the first row of each file.
        index_dir: for a file of another tool, the directory of its index.
        parse: how values of a file of another tool become fields; see ``convert``.
        database: named databases of an LMDB file; see ``convert``.
        jobs, memory: same as for ``convert``.
        progress: called as ``progress(done, total)`` in bytes; see ``convert``.

    Returns:
        What was found. Damage does not raise: ask ``result.ok``, or call ``result.raise_if_damaged()``. The GIL is released.

    Raises:
        shale.errors.UsageError: an argument is invalid, or contradicts another.
        shale.errors.NotFoundError, UnsupportedError, MismatchError: there is no finished dataset.
        shale.errors.StorageError: the storage failed.
    """
    given = locals()
    operands = [path_bytes(dataset, "dataset")] if not isinstance(dataset, (Mapping, list, tuple)) else words_of_place(place_of(dataset))
    return verify_result(run("verify", operands, given, progress)[0])


def info(
    dataset: Any,
    *,
    index_dir: Optional[Path] = None,
    parse: Optional[str] = None,
    database: Union[None, str, List[str], Tuple[str, ...]] = None,
    on: Optional[str] = None,
    partners: Optional[str] = None,
    labels: Optional[Path] = None,
    label_column: Optional[str] = None,
    key_column: Optional[str] = None,
    label_separator: Optional[str] = None,
    strip_prefix: Optional[str] = None,
    label_from: Optional[str] = None,
    classes_from: Optional[Path] = None,
    class_order: Optional[str] = None,
    ext: Union[None, str, List[str], Tuple[str, ...]] = None,
    pairs: Optional[str] = None,
    hidden: Optional[str] = None,
    group: Optional[str] = None,
    allow_empty: bool = False,
    axis: Union[None, str, Mapping[str, int]] = None,
    raw: Any = None,
    raw_offset: Optional[int] = None,
) -> DatasetInfo:
    """What a dataset holds, from its manifest: the command ``shale info``.

    Args:
        dataset: a dataset, a file of another tool, several (a list), or inputs that are joined (a mapping).
        on, partners: how they are joined; see ``convert``.
        ext, pairs, hidden, group, allow_empty: of a folder or archive that is not converted yet: which files are samples, as in :func:`convert`.
        labels, label_from, label_column, key_column, label_separator, strip_prefix, classes_from, class_order: what the labels of these files are.
        axis: where the samples of arrays lie, if that is not their first axis: ``{"images": -1}``.
        raw: what files of numbers without a header hold, and the sides of a row: ``"uint16"``, ``"uint16,400"``, or a numpy dtype.
        raw_offset: with ``raw``, the bytes before the first row of each file.
        index_dir: for a file of another tool, the directory of its index.
        parse: how values of an LMDB file become fields; see ``convert``.
        database: named databases of an LMDB file; see ``convert``.

    Raises:
        shale.errors.NotFoundError, UnsupportedError, DamagedError: there is no dataset, or its manifest is damaged.
    """
    given = locals()
    place = place_of(dataset, on, partners)
    if isinstance(place, JoinedPath):
        given.update(on=place.on, partners=place.partners)
    return dataset_info(run("info", words_of_place(place), given)[0])


def index(
    *files: Path,
    native: Union[None, str, List[str], Tuple[str, ...]] = None,
    index_dir: Optional[Path] = None,
    crc: bool = False,
    parse: Optional[str] = None,
    database: Union[None, str, List[str], Tuple[str, ...]] = None,
    dry_run: bool = False,
    jobs: Optional[int] = None,
    memory: Union[None, int, str] = None,
    progress: Progress = None,
) -> IndexResult:
    """Indexes files of other tools, or rebuilds the lost indexes and block lists of a dataset: the command ``shale index``.

    Args:
        files: an LMDB, HDF5, TFRecord or .npy file, or the directory of an LMDB; several of them, their folder, pattern or list, as one set;
            or one dataset of shale. With ``native``, tars, a folder or a pattern of them.
        native: write the indexes by which other programs find the samples of tars: ``"wids"``, ``"dali"``, ``"energon"``, or several.
        index_dir: the directory of the index; default: beside the file, or ``.shale-index`` in the folder of a set. Several files, a pattern
            and a list need one.
        crc: read the payload too, to add checksums, block hashes and digests.
        parse: how values of LMDB files become fields; see ``convert``.
        database: named databases of LMDB files; see ``convert``.
        dry_run: report what would be written, and write nothing.
        jobs: number of threads; see ``convert``.
        memory: memory budget; see ``convert``.
        progress: called as ``progress(done, total)`` for each file; see ``convert``.

    Raises:
        shale.errors.UsageError: an argument is invalid, or contradicts another.
        shale.errors.DamagedError: a file or a shard is damaged; indexes of the other shards were rebuilt.
        shale.errors.NotFoundError, UnsupportedError: there is no such file, or shale cannot read it.
        shale.errors.StorageError: the storage failed.
    """
    given = locals()
    facts = run("index", path_list([path for file in files for path in path_list(file, "files")], "files"), given, progress)[0]
    if "native" in facts:
        written = tuple(of_facts(NativeIndex, each, path=unescaped(each["path"])) for each in facts["native"])
        return IndexResult(native=written, dry_run=dry_run)
    if "shards" in facts:
        return _rebuilt(facts, os.fsdecode(files[0]))
    indexed = tuple(of_facts(IndexedFile, each, index=unescaped(each["index"]), fields=fields_of(each)) for each in facts["files"])
    return IndexResult(files=indexed, dry_run=dry_run)


def _rebuilt(facts: Dict[str, Any], dataset: str) -> IndexResult:
    shards = tuple(of_facts(RebuiltShard, shard) for shard in facts["shards"])
    broken = [shard for shard in shards if shard.fault]
    if broken:
        error = DamagedError(f"{dataset}: {broken[0].name} was not rebuilt: {broken[0].fault}")
        error.shard = broken[0].name
        error.hint = "copy the shard again from an intact copy of the dataset"
        raise error
    return of_facts(IndexResult, facts, files=(), native=(), shards=shards)


def repair(
    dataset: Path,
    source: Union[Path, Mapping[str, Path]],
    *,
    labels: Optional[Path] = None,
    label_column: Optional[str] = None,
    key_column: Optional[str] = None,
    label_separator: Optional[str] = None,
    strip_prefix: Optional[str] = None,
    label_from: Optional[str] = None,
    select: Optional[Path] = None,
    exclude: Optional[Path] = None,
    keys: Optional[str] = None,
    classes: Union[None, str, List[str], Tuple[str, ...]] = None,
    limit: Optional[int] = None,
    split: Split = None,
    split_group: Optional[str] = None,
    seed: Optional[int] = None,
    on: Optional[str] = None,
    partners: Optional[str] = None,
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
            shards are encoded again; a mapping of names to inputs, if it was made from several. What takes a file's place has the hash that the manifest gives. A dataset that was
            appended to has several sources: pass one after the other.
        labels: of a source that is a flat folder: the file of its labels.
        label_column, key_column, label_separator, strip_prefix, label_from: as in :func:`convert`.
        select: of a dataset of chosen samples: the file that it was converted with.
        exclude, keys, classes, limit: the same.
        split, split_group, seed: of a dataset that is a part of a split, or of the directory with all of its parts: as it was converted with.
        on, partners: how inputs with names were joined, as in :func:`convert`.
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
    given = locals()
    facts = run("repair", [path_bytes(dataset, "dataset")], given, progress)[0]
    files = tuple(of_facts(RepairedFile, each, name=unescaped(each["name"])) for each in facts["files"])
    return of_facts(RepairResult, facts, files=files, strays=tuple(map(unescaped, facts.get("strays", ()))))


def parts(places: Paths, *, verify: bool = False, progress: Progress = None) -> PartsResult:
    """Tells which parts of a run are complete, and which have to be written (again): the command ``shale parts``.

    Args:
        places: a directory that holds parts, ``part-00003-of-00128``, or several; or the parts themselves.
        verify: also compare the bytes of the parts with their hashes.
        progress: see ``convert``.

    The manifest of each part is proved by its hash, and its files must be there with their sizes; payload is read only with ``verify``.

    Raises:
        shale.errors.NotFoundError: a place does not exist, or holds no parts.
        shale.errors.UsageError: a place is a dataset, but not a part of one.
        shale.errors.StorageError: the storage failed.
    """
    facts = run("parts", path_list(places, "places"), {"verify": verify}, progress)[0]
    return of_facts(PartsResult, facts, parts=tuple(of_facts(PartInfo, each, path=unescaped(each["path"])) for each in facts["parts"]))


def merge(places: Paths, output: Path, *, move: bool = False, verify: bool = False, dry_run: bool = False, progress: Progress = None) -> MergeResult:
    """Joins the parts of a run into one dataset, without copying them: the command ``shale merge``.

    Args:
        places: a directory that holds parts, ``part-00003-of-00128``, or several; or the parts themselves.
        output: the directory of the dataset.
        move: remove the parts when the dataset is complete.
        verify: first compare the bytes of the parts with their hashes.
        dry_run: report what would be merged, and write nothing: no file is counted.
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
    facts, notes = run("merge", [*path_list(places, "places"), path_bytes(output, "output")], {"move": move, "verify": verify, "dry_run": dry_run}, progress)
    return of_facts(MergeResult, facts, output=unescaped(facts["output"]), notes=notes)


def formats() -> Tuple[FormatInfo, ...]:
    """The formats that ``convert`` writes, and what each can hold: the command ``shale formats``."""
    return tuple(of_facts(FormatInfo, facts) for facts in run("formats", [], {})[0]["formats"])
