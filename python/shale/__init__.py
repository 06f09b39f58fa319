"""shale: training datasets in shards of any format, read in flat memory."""

from shale._shale import version as __version__

__all__ = ["__version__"]
