"""`shale resample` as a function: draws rows of arrays."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from dataclasses import dataclass
from typing import Any, Mapping, Optional, Sequence, Tuple, Union

from shale._arguments import Path, Paths, inputs, is_path, path_bytes, whole_number
from shale._raw_dtypes import dtype_of
from shale._results import of_facts, unescaped
from shale._words import Progress, run
from shale.errors import Error, SchemaError, StorageError


@dataclass(frozen=True)
class ResampledArray:
    """An array that was written, or by ``dry_run`` would be."""

    path: str
    dtype: Any  #: numpy.dtype
    shape: Tuple[int, ...]
    file_bytes: int
    strategy: str  #: ``"memory"``, ``"gather"`` (rows are read in place) or ``"buckets"``
    passes: int  #: over the bytes, from the source to the output
    read_bytes: int  #: approximately
    written_bytes: int  #: approximately
    scratch_bytes: int  #: at most, at any moment


@dataclass(frozen=True)
class ResampledDataset:
    """A dataset that was written, or by ``dry_run`` would be."""

    path: str
    format: str
    samples: int
    shards: int
    file_bytes: int
    was_complete: bool  #: an earlier run of the same call had finished it: nothing was done


@dataclass(frozen=True)
class ResampleResult:
    """The result of ``resample``."""

    output: str
    rows: int
    source_rows: int
    arrays: Tuple[ResampledArray, ...]  #: the output, those of ``also``, the indices
    dataset: Optional[ResampledDataset]  #: an output of shards, instead of the first array
    notes: Tuple[str, ...]


def resample(
    source: Union[Paths, Mapping[str, Paths]],
    output: Path,
    *,
    rows: Optional[int] = None,
    replace: bool = False,
    permute: bool = False,
    indices: Any = None,
    weights: Any = None,
    seed: int = 0,
    memory: Union[None, int, str] = None,
    jobs: Optional[int] = None,
    tmp: Optional[Path] = None,
    save_indices: Optional[Path] = None,
    also: Optional[Mapping[Path, Path]] = None,
    fields: Union[None, str, Sequence[str]] = None,
    to: Optional[str] = None,
    shard_size: Union[None, int, str] = None,
    shard_samples: Optional[int] = None,
    row_group_size: Union[None, int, str] = None,
    overwrite: bool = False,
    dry_run: bool = False,
    io: str = "auto",
    progress: Progress = None,
    raw: Any = None,
    raw_offset: Optional[int] = None,
) -> ResampleResult:
    """Draws rows of an array of shape (n, ...) into another array, of shape (rows, ...), or into shards. Any size.

    ``out[s] == source[row of slot s]``; dtype and bytes of a row are kept. Which rows are drawn depends on
    n, ``rows``, ``seed`` and ``weights`` only. The program draws the same rows: the files are equal, byte
    for byte. By default all rows are taken, each once, in a shuffled order; ``rows`` alone takes fewer.

    Args:
        source: an .npy, .npz, .pt or .safetensors file, a dataset of arrays, or a list of arrays to concatenate.
            A mapping of names to paths makes columns: ``{"x": "a.npy", "y": ["b.npy", "c.npy"]}``.
        output: an .npy, .pt or .safetensors file; a name without a suffix is a directory of shards in the format ``to``.
        rows: number of rows of the output. Default: n, or the length of ``indices``.
        replace: draw with replacement, each row equally likely.
        permute: require all n rows, each once: any other number in ``rows`` is an error.
        indices: take these rows, in this order: an .npy file of shape (rows,), any integer dtype, or
            an array or a sequence of integers. Negative ones count from the end.
        weights: draw with replacement in proportion to these numbers: an .npy file, array or sequence
            of shape (n,) of bool, integers or floats. Arrays and sequences go through a file in ``tmp``,
            which is removed.
        seed: a different seed gives a different draw.
        memory: memory budget: bytes, or a string such as ``"64MiB"``; at least 16 MiB. Default: ``SHALE_MEMORY``, or 256 MiB, or a quarter
            of the memory that SLURM, the cgroup and the machine allow, if that is less.
        jobs: number of threads, 1 to 1024. Default: ``SHALE_JOBS``, or as many as SLURM, the CPU affinity and the cgroup allow.
        tmp: folder for temporary files. Default: that of the output (for arrays given as
            ``indices`` or ``weights``: the system's).
        save_indices: an .npy file for the numbers of the drawn rows, (rows,) int64.
        also: ``{"y.npy": "y-out.npy"}``: applies the same draw to more arrays, of equal length; each output is an
            .npy, .pt or .safetensors file.
        fields: take only these fields of a dataset or of arrays, in this order.
        to: format of the shards; see ``shale formats``.
        shard_size: the maximum size of any file of a shard: bytes, or a string such as ``"64MiB"``. Default: 1 GiB.
        shard_samples: the maximum number of samples in a shard.
        row_group_size: (parquet) the most bytes of a row group, which readers load as a whole. Default: 100 MB.
        overwrite: replace existing outputs.
        dry_run: report what would be written, and write nothing.
        raw: what files of numbers without a header hold, and the sides of a row: ``"uint16"``, ``"uint16,400"``, or a numpy dtype.
        raw_offset: with ``raw``, the bytes before the first row of each file.
        io: ``"direct"`` writes bypass the page cache, ``"buffered"`` ones use it; ``"auto"`` chooses.
        progress: called as ``progress(done, total)``, in rows over all passes and all outputs, from the calling
            thread, at most ten times a second and once with ``done == total``, before the outputs get
            their names (never if there is nothing to move). An exception that it raises stops the run and is
            raised here.

    Outputs get their names when all are complete and durable. A call that is stopped, by an error, an
    exception in ``progress`` or KeyboardInterrupt, leaves no array; complete shards of a dataset may remain,
    from which the same call continues. The GIL is released; several threads may call this at once.

    Raises:
        shale.errors.UsageError: an argument is invalid, or contradicts another.
        shale.errors.MismatchError: an output already exists and ``overwrite`` is False.
        shale.errors.SchemaError: arrays do not fit: lengths, dtypes, indices or weights out of range.
        shale.errors.NotFoundError, UnsupportedError, DamagedError: about the source, with ``file`` and ``offset``.
        shale.errors.StorageError: the storage failed, or has too little free space.

    Source: docs/sampling.md specifies the draws, with a program that reproduces them.
    """
    given = locals()
    with contextlib.ExitStack() as files:
        kept = _Lists(files, tmp)
        given.update(indices=kept.path_of(indices, "indices"), weights=kept.path_of(weights, "weights"))
        # 0 is the seed of those who give none.
        given["seed"] = whole_number(seed, "seed") or None
        try:
            facts, notes = run("resample", [*inputs(source, "source"), path_bytes(output, "output")], given, progress)
        except Error as error:
            kept.name_arguments(error)
            raise
    dataset = facts.get("dataset")
    return of_facts(
        ResampleResult,
        facts,
        output=unescaped(facts["output"]),
        arrays=tuple(_array(each) for each in facts["arrays"]),
        dataset=dataset and of_facts(ResampledDataset, dataset, path=unescaped(dataset["output"])),
        notes=notes,
    )


def _array(facts: dict) -> ResampledArray:
    return of_facts(ResampledArray, facts, path=unescaped(facts["path"]), dtype=dtype_of(unescaped(facts["dtype"])))


# --- arguments


class _Lists:
    """Indices and weights that come as arrays: the .npy files that hold them for the time of a call."""

    def __init__(self, files: contextlib.ExitStack, tmp: Optional[Path]) -> None:
        self._files = files
        self._tmp = tmp
        self._names: dict = {}

    def path_of(self, value: Any, name: str) -> Optional[bytes]:
        if value is None:
            return None
        if is_path(value):
            return path_bytes(value, name)
        import numpy

        array = _one_axis(value, name)
        try:
            folder = self._files.enter_context(tempfile.TemporaryDirectory(prefix="shale-", dir=None if self._tmp is None else os.fsdecode(self._tmp)))
        except OSError as error:
            raise StorageError(f"cannot create a temporary folder for {name}: {error}") from error
        path = os.path.join(folder, name + ".npy")
        try:
            numpy.save(path, array, allow_pickle=False)
        except OSError as error:
            raise StorageError(f"cannot save {name} in {path}: {error}") from error
        self._names[path] = name
        return os.fsencode(path)

    def name_arguments(self, error: Error) -> None:
        """Puts what the caller knows, names of arguments, into the message of an error."""
        message = str(error.args[0])
        for path, name in self._names.items():
            message = message.replace(path, name)
            if error.file == path:
                error.file = error.offset = None
                message = re.sub(rf"^{name}: byte \d+: ", f"{name}: ", message)
        error.args = (message,)


def _one_axis(value: Any, name: str) -> Any:
    """`value` as a numpy array of one axis, and of numbers."""
    import numpy

    if isinstance(value, numpy.ma.MaskedArray):
        raise SchemaError(f"{name} is a masked array, whose masked elements are not numbers; pass {name}.compressed()")
    try:
        array = numpy.asarray(value)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:  # also of torch's tensors
        raise SchemaError(f"{name} cannot be made an array: {error}") from error
    if array.ndim != 1:
        raise SchemaError(f"{name} has shape {array.shape}, expected one axis")
    if array.dtype.hasobject or array.dtype.kind not in "biuf":
        raise SchemaError(f"{name} has dtype {array.dtype}, expected numbers")
    # A list of nothing says nothing of its dtype; numpy takes float64.
    return array.astype("<i8") if array.size == 0 else array
