"""Reading for the order "block": runs of neighbours are read in one piece, and their samples kept until they are drawn."""

from __future__ import annotations

import threading
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from shale.errors import ContentError, DamagedError
from shale.order import EpochOrder

# (the samples of so many numbers, as bytes) of a dataset or several
ReadRaw = Callable[[Sequence[int]], List[Any]]

# How much of what it draws an epoch has read at any time, until its buffer is full.
_READ_AHEAD = 1.25

SMALLEST_PIECE = 128 << 10  # disks give smaller ones hardly sooner
_LARGEST_RUN = 1 << 20
_RUNS_OF_BUFFER, _RUNS_OF_SMALL_BUFFER = 256, 32


def run_bytes(buffer: int) -> int:
    """The size of a run where only that of the buffer is given: the smaller the buffer, the smaller the runs, so that enough of them are open
    for a batch of a sorted dataset to have as many labels as a uniform one. docs/loading.md has the curve, bench/block_curve.py draws it."""
    smallest = min(SMALLEST_PIECE, buffer // _RUNS_OF_SMALL_BUFFER)
    return max(1, min(_LARGEST_RUN, max(smallest, buffer // _RUNS_OF_BUFFER)))


def block_and_lanes(samples: int, mean: float, buffer: int, run: int) -> Tuple[int, int]:
    """Samples in a run, and open runs, for samples of so many bytes on average."""
    block = max(1, min(samples, round(run / mean)))
    # On average half of the samples of an open run are still to come.
    return block, max(1, int(2 * buffer / (mean * (block + 1))))


def mixes(step: int, block: int, lanes: int) -> bool:
    """Whether a step takes at most one sample of a run: samples of one are at least seven eighths of a round apart."""
    return block == 1 or step * 8 <= lanes * 7


class Piece:
    """Neighbours that are read together, before the step that draws the first of them is loaded; each is given away once, and then no longer
    held."""

    def __init__(self, numbers: List[int]) -> None:
        self._numbers = numbers
        self._others: Set[int] = set()  # drawn by other ranks
        self._samples: Dict[int, Any] = {}
        self._is_read = threading.Event()
        self._error: Optional[BaseException] = None

    def pass_over(self, number: int) -> None:
        """The sample is not drawn here."""
        self._others.add(number)
        self._samples.pop(number, None)

    def wanted(self) -> List[int]:
        return [number for number in self._numbers if number not in self._others]

    def hold(self, samples: Dict[int, Any], error: Optional[BaseException] = None) -> None:
        self._samples, self._error = samples, error
        self._is_read.set()

    def take(self, number: int) -> Any:
        """The sample, or the exception that reading it raised."""
        self._is_read.wait()
        if self._error is not None:
            raise self._error
        return self._samples.pop(number)


class _OpenRun:
    def __init__(self, first: int, count: int) -> None:
        self.first, self.end, self.left = first, first + count, count
        self.unread = set(range(first, first + count))  # and not drawn either


class RunPlanner:
    """Follows an epoch in order and says what a step must read. Called by one thread at a time.

    A run is read in one piece when its first sample is drawn; but not while the buffer fills, at the beginning of an epoch or of a resumed
    one: there all runs are new, and the first batch would wait for the whole buffer. So the steps up to any one read at most _READ_AHEAD
    times what they draw, and of runs for which that is not enough only what is drawn, with its neighbours up to `together` samples."""

    def __init__(self, order: EpochOrder, begin: int, together: int) -> None:
        self._together = together
        self._spare = 0.0  # samples that may be read before they are drawn
        self._open: Dict[int, _OpenRun] = {}  # by their first sample
        self._pieces: Dict[int, Piece] = {}  # by sample, until it is drawn
        if begin:  # which samples of the open runs have gone by, but for some of the last lane, which is drawn seldom where it is short
            block, lanes = order.block or 1, order.lanes or 1
            back = max(0, begin - (block + 2) * (lanes + 2))
            drawn = order.runs(back, begin - back)
            self.plan(drawn, [False] * len(drawn))

    def plan(self, drawn: Any, are_mine: Sequence[bool]) -> Tuple[List[Piece], List[Piece]]:
        """For rows of EpochOrder.runs: the piece of each that is mine, and the pieces to be read for them."""
        rows = [(number, self._run(first, count), is_mine) for (number, _, first, count), is_mine in zip(drawn.tolist(), are_mine)]
        due = {self._group(run, number) for number, run, is_mine in rows if is_mine and number in run.unread}
        self._spare += _READ_AHEAD * sum(are_mine) - len(due) * self._together
        pieces, to_read = [], []
        for number, run, is_mine in rows:
            run.left -= 1
            if run.left == 0:
                del self._open[run.first]
            if is_mine:
                if number in run.unread:
                    to_read.append(self._piece(run, number))
                pieces.append(self._pieces.pop(number))
            elif number in run.unread:
                run.unread.remove(number)
            elif number in self._pieces:
                self._pieces.pop(number).pass_over(number)
        return pieces, to_read

    def _run(self, first: int, count: int) -> _OpenRun:
        run = self._open.get(first)
        if run is None:
            run = self._open[first] = _OpenRun(first, count)
        return run

    def _group(self, run: _OpenRun, number: int) -> int:
        """The first of the neighbours of a sample, itself among them, that are read with it at least."""
        return number - (number - run.first) % self._together

    def _piece(self, run: _OpenRun, number: int) -> Piece:
        begin = self._group(run, number)
        numbers = [each for each in range(begin, min(begin + self._together, run.end)) if each in run.unread]
        self._spare += self._together - len(numbers)
        more = len(run.unread) - len(numbers)
        if more <= self._spare:
            self._spare -= more
            numbers = sorted(run.unread)
        run.unread.difference_update(numbers)
        piece = Piece(numbers)
        for each in numbers:
            self._pieces[each] = piece
        return piece


def read_pieces(pieces: Sequence[Piece], read: ReadRaw) -> None:
    """Reads pieces, all together; a damaged sample takes no other with it."""
    numbers = [piece.wanted() for piece in pieces]
    every = [number for of_piece in numbers for number in of_piece]
    try:
        samples = read_each(every, read)
    except BaseException as error:
        for piece in pieces:
            piece.hold({}, error)
        raise
    found = dict(zip(every, samples))
    for piece, of_piece in zip(pieces, numbers):
        piece.hold({number: found[number] for number in of_piece})


def read_each(numbers: Sequence[int], read: ReadRaw) -> List[Any]:
    """Samples, or the exceptions that reading them raised."""
    try:
        return read(numbers)
    except (DamagedError, ContentError):
        return [read_one(number, read) for number in numbers]


def read_one(number: int, read: ReadRaw) -> Any:
    try:
        return read([number])[0]
    except (DamagedError, ContentError) as error:
        return error
