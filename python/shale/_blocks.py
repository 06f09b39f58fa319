"""Reading for the order "block": runs of neighbours are read in one piece, and their samples kept until they are drawn."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from shale.errors import ContentError, DamagedError
from shale.order import EpochOrder

# (the samples of so many numbers, as bytes) of a dataset or several
ReadRaw = Callable[[Sequence[int]], List[Any]]


class Run:
    """Samples [first, first + count). They are read before the step that opens the run is loaded; each sample is given away once, and then
    no longer held."""

    def __init__(self, first: int, count: int) -> None:
        self.first, self.left = first, count
        self._count = count
        self._others: Set[int] = set()  # drawn by other ranks, or before the epoch was resumed
        self._samples: Dict[int, Any] = {}
        self.is_planned = False
        self._is_read = threading.Event()
        self._error: Optional[BaseException] = None

    def pass_over(self, number: int) -> None:
        """The sample is not drawn here."""
        self._others.add(number)
        self._samples.pop(number, None)

    def wanted(self) -> List[int]:
        return [number for number in range(self.first, self.first + self._count) if number not in self._others]

    def hold(self, samples: Dict[int, Any], error: Optional[BaseException] = None) -> None:
        self._samples, self._error = samples, error
        self._is_read.set()

    def take(self, number: int) -> Any:
        """The sample, or the exception that reading it raised."""
        self._is_read.wait()
        if self._error is not None:
            raise self._error
        return self._samples.pop(number)


class RunPlanner:
    """Follows an epoch in order and says which runs a step opens. Called by one thread at a time."""

    def __init__(self, order: EpochOrder, begin: int) -> None:
        self._open: Dict[int, Run] = {}
        if begin:  # which samples of the open runs have gone by
            block, lanes = order.block or 1, order.lanes or 1
            back = max(0, begin - (block + 2) * (lanes + 2))
            drawn = order.runs(back, begin - back)
            self.plan(drawn, [False] * len(drawn))

    def plan(self, drawn: Any, are_mine: Sequence[bool]) -> Tuple[List[Run], List[Run]]:
        """For rows of EpochOrder.runs: the run of each that is mine, and the runs to be read for them."""
        runs, to_read = [], []
        for (number, _, first, count), is_mine in zip(drawn.tolist(), are_mine):
            run = self._open.get(first)
            if run is None:
                run = self._open[first] = Run(first, count)
            run.left -= 1
            if run.left == 0:
                del self._open[first]
            if not is_mine:
                run.pass_over(number)
                continue
            runs.append(run)
            if not run.is_planned:
                run.is_planned = True
                to_read.append(run)
        return runs, to_read


def read_runs(runs: Sequence[Run], read: ReadRaw) -> None:
    """Reads runs, all together; a damaged sample takes no other with it."""
    numbers = [run.wanted() for run in runs]
    every = [number for of_run in numbers for number in of_run]
    try:
        try:
            samples = read(every)
        except (DamagedError, ContentError):
            samples = [_read_one(number, read) for number in every]
    except BaseException as error:
        for run in runs:
            run.hold({}, error)
        raise
    found = dict(zip(every, samples))
    for run, of_run in zip(runs, numbers):
        run.hold({number: found[number] for number in of_run})


def _read_one(number: int, read: ReadRaw) -> Any:
    try:
        return read([number])[0]
    except (DamagedError, ContentError) as error:
        return error
