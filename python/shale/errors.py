"""The errors of shale, by kind. Each says where: file, byte, sample."""

from __future__ import annotations

from typing import Optional


class Error(Exception):
    """The base of all errors of shale. Its text has place, fact and hint; the attributes hold them one by one.

    Attributes (None where unknown):
        file: path of the file that the fact is about.
        offset: byte in that file.
        shard: name of the shard.
        sample: row of the sample, counted over the dataset from 0.
        key: key of the sample.
        hint: what to do about it.
    """

    file: Optional[str] = None
    offset: Optional[int] = None
    shard: Optional[str] = None
    sample: Optional[int] = None
    key: Optional[str] = None
    hint: Optional[str] = None

    def __str__(self) -> str:
        text = super().__str__()
        return f"{text}\nhint: {self.hint}" if self.hint else text

    def __reduce__(self):
        return type(self), self.args, self.__dict__


class UsageError(Error, ValueError):
    """An argument is invalid."""


class UnsupportedError(Error):
    """The data is well-formed, but shale cannot read it."""


class NotFoundError(Error, LookupError):
    """No such dataset, file, row or column."""


class StorageError(Error):
    """The storage failed; a retry may succeed."""


class DamagedError(Error):
    """Bytes differ from what was written, or violate their format."""


class ContentError(Error, ValueError):
    """A sample's content is invalid: not an image, or an image that does not decode."""


class SchemaError(Error):
    """A sample does not fit the schema."""


class LimitError(Error):
    """A size exceeds its limit."""


class MismatchError(Error):
    """Two things that should agree do not, such as an index and its file; or the dataset is unfinished."""
