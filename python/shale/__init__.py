"""shale: training datasets in shards of any format, read in constant memory."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, List

from shale._results import (
    ArrayInfo,
    ConvertResult,
    DatasetInfo,
    FieldInfo,
    Finding,
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
    SecondOpinion,
    SkippedImage,
    SourceComparison,
    VerifyResult,
)
from shale._shale import io_backend
from shale._shale import version as __version__
from shale.commands import convert, formats, index, info, merge, parts, repair, verify
from shale.dataset import Dataset
from shale.errors import (
    ContentError,
    DamagedError,
    Error,
    LimitError,
    MismatchError,
    NotFoundError,
    SchemaError,
    StorageError,
    UnsupportedError,
    UsageError,
)
from shale.lists import LazyList, clip
from shale.order import EpochOrder, ShuffleScore, sample_seeds, shuffle_score
from shale.pixels import decode_rgb8
from shale.report import Report, report
from shale.resample import ResampledArray, ResampledDataset, ResampleResult, resample
from shale.value_file import ValueFile
from shale.writer import Writer, WriteResult, from_iterable

if TYPE_CHECKING:
    from shale import lmdb as lmdb
    from shale import torch as torch

__all__ = [
    "ArrayInfo",
    "ContentError",
    "ConvertResult",
    "DamagedError",
    "Dataset",
    "DatasetInfo",
    "EpochOrder",
    "Error",
    "FieldInfo",
    "Finding",
    "FormatInfo",
    "IndexResult",
    "IndexedFile",
    "LazyList",
    "LimitError",
    "MergeResult",
    "MismatchError",
    "NativeIndex",
    "NotFoundError",
    "PartInfo",
    "PartsResult",
    "RebuiltShard",
    "RepairResult",
    "RepairedFile",
    "Report",
    "ResampleResult",
    "ResampledArray",
    "ResampledDataset",
    "SchemaError",
    "SecondOpinion",
    "ShuffleScore",
    "SkippedImage",
    "SourceComparison",
    "StorageError",
    "UnsupportedError",
    "UsageError",
    "ValueFile",
    "VerifyResult",
    "WriteResult",
    "Writer",
    "__version__",
    "clip",
    "convert",
    "decode_rgb8",
    "formats",
    "from_iterable",
    "index",
    "info",
    "merge",
    "parts",
    "io_backend",
    "repair",
    "report",
    "resample",
    "sample_seeds",
    "shuffle_score",
    "verify",
]

# Imported when they are first asked for: torch takes a second, and most programs need neither.
_LAZY = ("lmdb", "torch")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"shale.{name}")
    raise AttributeError(f"module 'shale' has no attribute {name!r}")


def __dir__() -> List[str]:
    return sorted({*globals(), *_LAZY})
