"""What can go wrong, by kind. Every error says where: file, byte, sample."""

from __future__ import annotations

from typing import Optional


class Error(Exception):
    """An error of shale. Its text has place, fact and hint; the attributes have them one by one.

    Attributes (None where unknown):
        file: path of the file that the fact is about.
        offset: byte in that file.
        shard: name of the shard.
        sample: row of the sample, counted over the dataset from 0.
        key: key of the sample.
        hint: one thing to do.
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
    """An argument is off."""


class UnsupportedError(Error):
    """Well-formed, but nothing here can read it."""


class NotFoundError(Error, LookupError):
    """There is no such dataset, file, row or column."""


class StorageError(Error):
    """The storage failed: worth another try."""


class DamagedError(Error):
    """Bytes are not what they were, or what their format demands."""


class ContentError(Error, ValueError):
    """A sample is not what it is taken for: no image, or one that does not decode."""


class SchemaError(Error):
    """A sample does not fit the schema."""


class LimitError(Error):
    """A size is above its limit."""


class MismatchError(Error):
    """Two things that should agree do not: an index and its file, an unfinished dataset."""
