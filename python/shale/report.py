"""A page that shows what is in a dataset: the command ``shale report`` as a function, which shows itself in a notebook."""

from __future__ import annotations

import html
import json
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from shale import _shale
from shale._arguments import Path, path_bytes
from shale._places import JoinedPath, place_of, words_of_place
from shale._words import Progress, Translation, call, callback, words_of


class Report:
    """What :func:`report` found, and the page that shows it. A notebook shows the page.

    Attributes:
        facts: everything that the page shows but its pictures, as ``shale report --json`` prints it (docs/report.md).
        page: the page, as HTML.
        notes: what was said while it was made, a sentence each.
    """

    def __init__(self, dataset: List[bytes], facts: Dict[str, Any], page: str, notes: Tuple[str, ...]) -> None:
        self.facts = facts
        self.page = page
        self.notes = notes
        self._dataset = dataset

    @property
    def damaged(self) -> bool:
        """Something of the dataset was damaged: ``facts["integrity"]`` says what."""
        return bool(self.facts["damaged"])

    def save(self, out: Path, *, overwrite: bool = False) -> None:
        """Writes the page to a file.

        Args:
            out: the file. It must not lie in the dataset.
            overwrite: replace an earlier report. Any other file is never replaced.

        Raises:
            shale.errors.MismatchError: the file exists.
            shale.errors.UsageError: it would lie in a dataset.
            shale.errors.StorageError: the storage failed, or is full.
        """
        words = words_of("report", self._dataset, {"out": path_bytes(out, "out"), "overwrite": overwrite})
        call(_shale.save_report, words, self.page.encode("utf-8"))

    def _repr_html_(self) -> str:
        # Sandboxed: its script may run, and reach nothing of the notebook.
        return (
            f'<iframe title="shale report" sandbox="allow-scripts" style="width:100%;height:720px;border:0" srcdoc="{html.escape(self.page)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"<shale.Report of {self.facts['path']}: {self.facts['samples']} samples, {len(self.page)} bytes>"


def report(
    dataset: Any,
    out: Optional[Path] = None,
    *,
    sample: Union[None, int, str] = 10000,
    verify: bool = False,
    overwrite: bool = False,
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
    jobs: Optional[int] = None,
    memory: Union[None, int, str] = None,
    progress: Progress = None,
) -> Report:
    """Makes a page that shows what is in a dataset: the command ``shale report``. Nothing of the dataset changes.

    Args:
        dataset: a dataset, a file of another tool, several (a list), or inputs that are joined (a mapping).
        out: where the page is written; None: nowhere. It must not lie in the dataset.
        sample: how many samples are read for what neither manifest nor index says, or ``"all"``; None: 10,000.
        verify: also verify the dataset, as :func:`verify` does.
        overwrite: replace an earlier report at ``out``. Any other file is never replaced.
        ext, pairs, hidden, group, allow_empty: of a folder or archive that is not converted yet: which files are samples, as in :func:`convert`.
        labels, label_from, label_column, key_column, label_separator, strip_prefix, classes_from, class_order: what the labels of these files are.
        axis: where the samples of arrays lie, if that is not their first axis: ``{"images": -1}``.
        raw: what files of numbers without a header hold, and the sides of a row: ``"uint16"``, ``"uint16,400"``, or a numpy dtype.
        raw_offset: with ``raw``, the bytes before the first row of each file.
        index_dir: for a file of another tool, the directory of its index.
        parse: how values of LMDB files become fields; see ``convert``.
        database: named databases of LMDB files; see ``convert``.
        on, partners: how inputs are joined; see ``convert``.
        jobs, memory: same as for ``convert``.
        progress: called as ``progress(done, total)`` in samples; see ``convert``.

    Returns:
        The page and its facts. Damage does not raise: ask ``report.damaged``. The GIL is released.

    Raises:
        shale.errors.UsageError: an argument is invalid, or ``out`` lies in a dataset.
        shale.errors.NotFoundError, UnsupportedError: there is no dataset.
        shale.errors.MismatchError: ``out`` exists, or the dataset is unfinished.
        shale.errors.DamagedError: the manifest is damaged, so that nothing can be said of the rest.
        shale.errors.StorageError: the storage failed, or is full.
    """
    given = locals()
    place = place_of(dataset, on, partners)
    if isinstance(place, JoinedPath):
        given.update(on=place.on, partners=place.partners)
    operands = words_of_place(place)
    words = words_of("report", operands, given)
    facts, notes, page = call(_shale.report, words, callback(progress))
    return Report(operands, json.loads(facts), page.decode("utf-8"), tuple(map(Translation(words), notes)))
