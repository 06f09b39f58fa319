"""The order of an epoch: a pure function of seed, epoch and position; and how well it is shuffled."""

from __future__ import annotations

import math
import operator
from typing import Any, NamedTuple, Optional, Sequence, Union

from shale import _shale
from shale._arguments import flag, is_bool, one_of, whole_number
from shale.errors import UsageError

_MASK = 2**64 - 1
_STEP = 0x9E3779B97F4A7C15  # of SplitMix64
_SEEDS = 0x73616D706C657364  # the letters "samplesd"


class EpochOrder:
    """The order of the samples in an epoch. Nothing is stored: any part of it can be computed, on any machine.

    ``order[p]`` is the sample at position ``p``, ``order[a:b]`` an int64 array of those from ``a`` to ``b``. docs/shuffle.md has the
    algorithms and test vectors.

    Args:
        samples: how many there are, at least 1.
        seed: any number of 64 bits.
        epoch: from 0.
        shuffle: ``"random"``: a permutation of all samples. ``"block"``: samples are drawn evenly from ``lanes`` open runs of ``block``
            neighbours, which are read in one piece. False: in order.
        block, lanes: for ``"block"``, both at least 1.

    Raises:
        shale.errors.UsageError: an argument is wrong.
    """

    def __init__(
        self,
        samples: int,
        seed: int = 0,
        epoch: int = 0,
        shuffle: Union[bool, str] = "random",
        *,
        block: Optional[int] = None,
        lanes: Optional[int] = None,
    ) -> None:
        self.samples = at_least_one(samples, "samples")
        self.seed = whole(seed, "seed")
        self.epoch = whole(epoch, "epoch")
        self.shuffle = shuffle_way(shuffle)
        if (block is None) == (self.shuffle == "block") or (block is None) != (lanes is None):
            raise UsageError(f"block is {block!r} and lanes is {lanes!r}: shuffle='block' takes both, nothing else takes one")
        self.block = None if block is None else at_least_one(block, "block")
        self.lanes = None if lanes is None else at_least_one(lanes, "lanes")
        self._key = _shale.epoch_key(self.seed, self.epoch)

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, position: Any) -> Any:
        """The sample at a position, or those of a slice, as an int64 array."""
        if not isinstance(position, slice):
            at = operator.index(position)
            if not -self.samples <= at < self.samples:
                raise IndexError(f"position {at} of {self.samples}")
            return int(self.rows(at % self.samples, 1)[0])
        begin, end, step = position.indices(self.samples)
        if step < 0:
            return self[range(begin, end, step)[-1] : begin + 1 : -step][::-1] if range(begin, end, step) else self.rows(0, 0)
        return self.rows(begin, len(range(begin, end, step)), step)

    def rows(self, begin: int, count: int, step: int = 1) -> Any:
        """The samples at the positions ``begin``, ``begin + step`` ..., as an int64 array."""
        if self.shuffle == "random":
            return _shale.random_rows(self.samples, self._key, begin, count, step)
        if self.shuffle == "block":
            return self.runs(begin, (count - 1) * step + 1 if count else 0)[::step, 0]
        import numpy

        return numpy.arange(begin, begin + count * step, step, dtype=numpy.int64)

    def runs(self, begin: int, count: int) -> Any:
        """For ``"block"``: an int64 array (count, 4) of the samples at the positions from ``begin`` on: the sample, its lane, and the
        first sample and the number of samples of the run that it is read with."""
        if self.block is None or self.lanes is None:
            raise UsageError(f"shuffle is {self.shuffle!r}: only 'block' has runs")
        return _shale.block_rows(self.samples, self.block, self.lanes, self._key, begin, count)

    def __repr__(self) -> str:
        blocks = "" if self.block is None else f", block={self.block}, lanes={self.lanes}"
        return f"shale.EpochOrder({self.samples}, seed={self.seed}, epoch={self.epoch}, shuffle={self.shuffle!r}{blocks})"


def sample_seeds(seed: int, epoch: int, samples: Any) -> Any:
    """A seed of 64 bits for each sample in an epoch, for its augmentation: a uint64 array in the shape of ``samples``.

    The same for any number of threads, workers and ranks, and after a resume. No two samples of an epoch share one.
    ``numpy.random.default_rng(seed)`` and ``torch.Generator().manual_seed(seed)`` take it, as ``int``.
    """
    import numpy

    rows = numpy.asarray(samples)
    if rows.dtype.kind not in "iu" and rows.size:
        raise UsageError(f"samples have dtype {rows.dtype}, expected whole numbers")
    return words_of(_mix(_shale.epoch_key(whole(seed, "seed"), whole(epoch, "epoch")) ^ _SEEDS), rows.astype(numpy.uint64))


def words_of(key: int, numbers: Any) -> Any:
    """The words of a key with these numbers, of SplitMix64, as docs/shuffle.md defines `word`. uint64 arrays."""
    import numpy

    with numpy.errstate(over="ignore"):
        words = (numbers + numpy.uint64(1)) * numpy.uint64(_STEP) + numpy.uint64(key)
        words = (words ^ words >> numpy.uint64(30)) * numpy.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ words >> numpy.uint64(27)) * numpy.uint64(0x94D049BB133111EB)
        return words ^ words >> numpy.uint64(31)


def _mix(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _MASK
    return x ^ x >> 31


class ShuffleScore(NamedTuple):
    """What ``shuffle_score`` found."""

    score: float
    """The smallest of the four below, relative to ``expected``: 1 is as good as uniform, 0.05 is a sorted set."""
    expected: float
    """How many labels a batch has on average if its samples are drawn uniformly."""
    whole: float
    """How many labels a batch of this order has, on average over the epoch."""
    first: float
    """The same in the first percent of the epoch, at least one batch."""
    middle: float
    last: float


def shuffle_score(order: Any, labels: Sequence[Any], batch_size: int = 256) -> ShuffleScore:
    """How well an order mixes: the number of different labels in a batch, beside that of batches drawn uniformly.

    A buffer in front of data that is sorted by class often looks well in the middle of an epoch and bad at its ends; so the score is
    that of the worst of first, middle and last percent and the whole.

    Args:
        order: an ``EpochOrder``, or rows in the order in which they come (any array of whole numbers): of an epoch, or of a part of it.
        labels: the label of each row: ``dataset.column("label")``.
        batch_size: at least 1. Batches that are not full are left out, unless there is no other.

    Raises:
        shale.errors.UsageError: no rows, or rows without a label.
    """
    import numpy

    size = at_least_one(batch_size, "batch_size")
    rows = numpy.asarray(order[:] if isinstance(order, EpochOrder) else order)
    _, numbers = numpy.unique(numpy.asarray(labels), return_inverse=True)
    if rows.ndim != 1 or not rows.size or rows.dtype.kind not in "iu":
        raise UsageError(f"the order has dtype {rows.dtype} and shape {rows.shape}, expected at least one whole number")
    if rows.min() < 0 or rows.max() >= numbers.size:
        raise UsageError(f"the order has rows {rows.min()} to {rows.max()}, but there are {numbers.size} labels")
    found = numbers.reshape(-1)[rows]
    size = min(size, len(found))
    batches = numpy.sort(found[: len(found) // size * size].reshape(-1, size), axis=1)
    distinct = 1 + (numpy.diff(batches, axis=1) != 0).sum(axis=1)
    percent = -(-len(distinct) // 100)
    begin = (len(distinct) - percent) // 2
    parts = [distinct, distinct[:percent], distinct[begin : begin + percent], distinct[-percent:]]
    means = [float(part.mean()) for part in parts]
    expected = _expected_labels(numpy.unique(found, return_counts=True)[1], len(found), size)
    return ShuffleScore(min(means) / expected, expected, *means)


def _expected_labels(counts: Any, samples: int, size: int) -> float:
    """Of `size` samples that are drawn uniformly, without replacement, out of so many of each label."""
    import numpy

    def log_choose(n: int) -> float:
        return math.lgamma(n + 1) - math.lgamma(n - size + 1) if n >= size else -math.inf

    kinds, many = numpy.unique(counts, return_counts=True)
    return float(sum(number * (1 - math.exp(log_choose(samples - int(count)) - log_choose(samples))) for count, number in zip(kinds, many)))


def whole(value: Any, name: str, least: int = 0, most: int = _MASK) -> int:
    number = whole_number(value, name, least, most)
    if number is None:
        raise UsageError(f"{name} is None, expected a whole number")
    return number


def at_least_one(value: Any, name: str) -> int:
    return whole(value, name, 1, 2**62)


def shuffle_way(value: Any) -> Union[bool, str]:
    """False, "random" or "block"; True is "random". Errors: UsageError."""
    if isinstance(value, str):
        return one_of(value, "shuffle", ("random", "block"))  # type: ignore[no-any-return]
    if is_bool(value):
        return "random" if flag(value, "shuffle") else False
    raise UsageError(f"shuffle is {value!r}, expected False, True, 'random' or 'block'")
