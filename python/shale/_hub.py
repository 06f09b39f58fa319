"""Between a shale.Dataset and a `datasets.Dataset` of Hugging Face, where both read the same Parquet files."""

from __future__ import annotations

import bisect
import glob
import os
import shlex
from importlib import import_module  # of packages without types
from typing import TYPE_CHECKING, Any, List, Type, TypeVar

from shale._places import words_of_place
from shale._samples import SampleSequence, chosen_rows
from shale.errors import MismatchError, UnsupportedError, UsageError

if TYPE_CHECKING:
    from shale._shale import Reader

EXPORT = "ds.with_format('arrow').map(datasets.table.embed_table_storage, batched=True).to_parquet('train.parquet')"
_COMPARED_ROWS, _ROWS_AT_ONCE = 16, 64
Self = TypeVar("Self", bound="HubSamples")  # that of typing came with Python 3.11


class HubSamples(SampleSequence):
    """What a Dataset and one of `datasets` make of each other."""

    path: str
    indices: Any

    def _reader(self) -> Reader:
        raise NotImplementedError

    @classmethod
    def from_hf(cls: Type[Self], ds: Any, files: Any = None, **options: Any) -> Self:
        """The samples of a ``datasets.Dataset``, read from the Parquet files that it was loaded from, not from its Arrow cache.

        Its order and selection hold: after ``shuffle``, ``sort``, ``filter`` or ``select`` there are the same samples at the same places. Fields
        are the columns of the files, with their names there. The number of rows, and the values of up to 16 rows, are compared with the files, or of all
        rows where ``map`` or the like may have changed some. Of
        rows that lie together, ``ds.select(range(100))``, `datasets` does not keep where they begin: these are ``indices=range(100)`` of the whole.

        Args:
            ds: one split, that ``load_dataset`` made of Parquet files. From the Hub: the files are those of its commit in the cache of the Hub. From
                files of this machine: older versions of `datasets` (3.6) note which; newer ones (5.2) do not.
            files: the Parquet files, as ``Dataset`` takes a path, where `datasets` does not say which.
            options: arguments of ``Dataset``, such as ``decode`` or ``index_dir``; not ``indices``.

        Raises:
            shale.errors.UnsupportedError: the files are not known, such as after ``map``; the hint has the line that exports ``ds``.
            shale.errors.MismatchError: the files hold other rows than ``ds``, or more.
            shale.errors.UsageError: ``ds`` is not a ``datasets.Dataset``, such as one of several splits.
        """
        datasets = import_module("datasets")
        if not isinstance(ds, datasets.Dataset):
            splits = f"; choose a split: ds[{next(iter(ds))!r}]" if isinstance(ds, datasets.DatasetDict) and ds else ""
            raise UsageError(f"ds is a {type(ds).__name__}, expected a datasets.Dataset{splits}")
        place = _files_of(ds) if files is None else files
        if not place:
            error = UnsupportedError(f"the Parquet files that this datasets.Dataset of {len(ds)} rows was loaded from are not known")
            error.hint = f"pass them: shale.Dataset.from_hf(ds, 'data/train-*.parquet'); or export it: {EXPORT}"
            raise error
        if "indices" in options:
            raise UsageError("indices follow from ds; choose rows there: ds.select(indices)")
        make: Any = cls  # a Dataset, which takes arguments
        made: Self = make(place, **options)
        _compare(ds.data, made._reader().sharing(), made.path)
        made.indices = None if ds._indices is None else chosen_rows(ds._indices.column(0).to_numpy(), len(made))
        return made

    def to_hf(self, cache_dir: Any = None) -> Any:
        """A ``datasets.Dataset`` over the same Parquet files: ``datasets.load_dataset("parquet", data_files=...)``, and ``select`` for ``indices``.

        shale copies nothing. `datasets` itself does: it writes all values of the files to its own cache once, as Arrow files of about
        the same size, and maps them. The columns are all of those in the files: ``fields``, ``decode`` and ``transform`` are not followed.

        Args:
            cache_dir: directory for that cache. Default: that of `datasets`, ``~/.cache/huggingface/datasets``.

        Raises:
            shale.errors.UnsupportedError: the dataset is in another container than Parquet, or the package `datasets` is not installed.
        """
        reader = self._reader()
        if reader.format != "parquet":
            error = UnsupportedError(f"{self.path}: is {reader.format}, which a datasets.Dataset cannot be laid over")
            words = " ".join(shlex.quote(os.fsdecode(word)) for word in words_of_place(self.path))
            error.hint = f"'shale convert {words} OUT --to parquet' writes it as Parquet"
            raise error
        try:
            datasets = import_module("datasets")
        except ImportError:
            raise UnsupportedError("the package datasets, which to_hf makes an object of, is not installed") from None
        files = [glob.escape(file) for file in _files_in(reader, self.path)]
        whole = datasets.load_dataset("parquet", data_files=files, split="train", cache_dir=cache_dir)
        return whole if self.indices is None else whole.select(self.indices)


def _files_in(reader: Reader, path: str) -> List[str]:
    """Files of a dataset, in order, without those that have no rows."""
    if os.path.isfile(path):
        return [path]
    files, row = [], 0
    while row < len(reader):
        name = reader.shard_name(row)
        file = os.path.join(path, name)  # of a set of files; a shard of shale has no suffix in its name
        files.append(file if os.path.exists(file) else file + ".parquet")
        row = bisect.bisect_left(range(len(reader)), True, lo=row, key=lambda at: reader.shard_name(at) != name)
    return files


def _files_of(ds: Any) -> List[str]:
    """Parquet files that a dataset was loaded from, in order; none if it does not say which."""
    caches = import_module("datasets.table").list_table_cache_files(ds.data)
    if not caches or any(os.path.basename(each).startswith("cache-") for each in caches):
        return []  # in memory, or made by map()
    split = str(ds.split).partition("[")[0]
    return _in_checksums(ds.info, split) or _in_hub_cache(ds.info, split, os.path.basename(os.path.dirname(caches[0])))


def _in_checksums(info: Any, split: str) -> List[str]:
    """Files of a split: those of all splits are noted in their order, so the numbers of rows say where each begins."""
    files = list(info.download_checksums or ())
    if not all(map(os.path.isfile, files)):
        return []
    read_metadata, begin = import_module("pyarrow.parquet").read_metadata, 0
    for each in (info.splits or {}).values():
        end, rows = begin, 0
        while end < len(files) and rows < each.num_examples:
            rows += read_metadata(files[end]).num_rows
            end += 1
        if each.name == split:
            return files[begin:end]
        begin = end
    return []


def _in_hub_cache(info: Any, split: str, commit: str) -> List[str]:
    """Files of a split in the snapshot that its Arrow cache is named after, found as `datasets` finds them."""
    cache = import_module("huggingface_hub.constants").HF_HUB_CACHE
    folders = glob.glob(os.path.join(glob.escape(cache), "datasets--*", "snapshots", glob.escape(commit)))
    if len(folders) != 1:
        return []
    try:
        builder = import_module("datasets").load_dataset_builder(folders[0], name=info.config_name)
        files = list((builder.config.data_files or {}).get(split, ()))
    except (OSError, ValueError):
        return []  # not all of the repository is there
    return files if builder.name == "parquet" else []


def _is_as_loaded(table: Any) -> bool:
    """Whether a table is what the builder of a dataset wrote, whole and in its order: not what map() or concatenate_datasets() made."""
    blocks = [block for row in getattr(table, "blocks", [[table]]) for block in row]
    paths = [getattr(block, "path", None) or "" for block in blocks]
    if not all(paths) or len(set(paths)) < len(paths) or any(os.path.basename(path).startswith("cache-") for path in paths):
        return False
    return all(replay[0] in ("replace_schema_metadata", "cast") for block in blocks for replay in block.replays or ())


def _compare(table: Any, reader: Reader, path: str) -> None:
    """Whether files hold a table: by its length and some rows; by all rows if it may differ in any. Errors: MismatchError."""
    if len(table) != len(reader):
        error = MismatchError(f"{path}: {len(reader)} rows, but the table of the datasets.Dataset has {len(table)}")
        error.hint = "of rows that lie together 'datasets' does not keep where they begin: pass these rows to shale.Dataset(files, indices=range(begin, end))"
        raise error
    names = [field["name"] for field in reader.schema]
    reader.select(names, [""] * len(names))
    at_once = 1 if _is_as_loaded(table) else _ROWS_AT_ONCE
    step = -(-len(reader) // _COMPARED_ROWS) or 1 if at_once == 1 else at_once
    for begin in range(0, len(reader), step):
        rows = range(begin, min(begin + at_once, len(reader)))
        columns = table.slice(rows.start, len(rows)).to_pydict()
        for place, sample in enumerate(reader.read(rows)):
            for name, values in columns.items():
                if name in sample and _differ(values[place], sample[name]):
                    raise MismatchError(f"{path}: row {rows[place]}: '{name}' is another value than in the datasets.Dataset")


def _differ(value: Any, found: Any) -> bool:
    """Of a value of Arrow and one of shale. What has another type in Python, such as a date, is not compared."""
    if isinstance(value, dict) and "bytes" in value:
        value = value["bytes"]
    if value is None or found is None:
        return value is not found
    if hasattr(found, "dtype"):
        return found.tolist() != value and bool((found == found).all())  # not a number is unequal to itself
    if isinstance(value, list) and isinstance(found, list):
        return len(value) != len(found) or any(map(_differ, value, found))
    if isinstance(value, (int, float)) and isinstance(found, (int, float)):
        return value != found and value == value
    plain = (int, float, str, bytes)
    return value != found if type(value) is type(found) else isinstance(value, plain) and isinstance(found, plain)
