"""shale: training datasets in shards of any format, read in constant memory."""

from shale._shale import io_backend
from shale._shale import version as __version__
from shale.dataset import Dataset
from shale.errors import Error
from shale.pixels import decode_rgb8
from shale.resample import ResampledArray, ResampledDataset, ResampleResult, resample
from shale.writer import Writer, WriteResult, from_iterable

__all__ = [
    "Dataset",
    "Error",
    "ResampleResult",
    "ResampledArray",
    "ResampledDataset",
    "WriteResult",
    "Writer",
    "__version__",
    "decode_rgb8",
    "from_iterable",
    "io_backend",
    "resample",
]
