"""Splits at a path: a dataset of shale's in a folder for each, or files of another tool that are named after them, as a repository of the Hub has."""

from __future__ import annotations

import os
from typing import List

from shale import _shale
from shale._arguments import text
from shale.errors import Error, NotFoundError, UsageError


def path_of_split(root: str, split: str) -> str:
    """The folder of a split, or the one word that stands for its files. Errors: NotFoundError; UsageError."""
    name = text(split, "split")
    path = os.path.join(root, name)
    if not name or os.path.basename(name) != name or name in (os.curdir, os.pardir):
        raise UsageError(f"split is {split!r}, expected the name of a folder in {root}")
    for found, word in _shale.file_splits(os.fsencode(root)):
        if found == name:
            return os.fsdecode(word)
    if not os.path.isdir(path):
        splits = splits_in(root)
        raise NotFoundError(f"{root}: no split {split!r}; " + (f"it holds {listed(splits)}" if splits else "it holds no splits"))
    return path


def splits_in(path: str) -> List[str]:
    """Names of the folders that hold a dataset each, or of the splits of files."""
    try:
        with os.scandir(path) as entries:
            names = [each.name for each in entries if not each.name.startswith(".")]
        datasets = sorted(name for name in names if os.path.exists(os.path.join(path, name, "dataset.json")))
        return datasets or [name for name, _ in _shale.file_splits(os.fsencode(path))]
    except (OSError, Error):
        return []


def listed(splits: List[str]) -> str:
    shown = ", ".join(splits[:10]) + (" ..." if len(splits) > 10 else "")
    return f"the {'split' if len(splits) == 1 else 'splits'} {shown}"
