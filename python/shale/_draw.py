"""Which sample comes at a position of an epoch: one dataset or several, some of its samples, by weight, in proportion."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, Dict, List, Optional, Sequence, Union

from shale import _shale
from shale._arguments import is_bool
from shale._samples import chosen_rows
from shale.errors import UsageError
from shale.order import EpochOrder, words_of

_MOST_QUOTA = 1 << 20


class Draw:
    """Samples are numbered through all datasets, one after the other. A pure function of (seed, epoch, position)."""

    draws_once = True  # each sample at most once in an epoch

    def __init__(self, sizes: Sequence[int], seed: int, shuffle: Union[bool, str]) -> None:
        self.samples = self.size = sum(sizes)
        self.seed, self.shuffle = seed, shuffle
        self.block: Optional[int] = None
        self.lanes: Optional[int] = None

    def rows(self, epoch: int, begin: int, count: int) -> Any:
        """The numbers of the samples at the positions from `begin` on, as an int64 array."""
        return self.order(epoch).rows(begin, count)

    def order(self, epoch: int) -> EpochOrder:
        return EpochOrder(self.size, self.seed, epoch, self.shuffle, block=self.block, lanes=self.lanes)

    def facts(self) -> List[bytes]:
        """What a state must have in common with it, besides what the state shows."""
        return []


class ChosenDraw(Draw):
    """Only some of the samples, each once for each time that it is named."""

    draws_once = False

    def __init__(self, sizes: Sequence[int], seed: int, shuffle: Union[bool, str], indices: Any) -> None:
        import numpy

        super().__init__(sizes, seed, shuffle)
        self.chosen = numpy.asarray(chosen_rows(indices, self.samples), numpy.int64)
        self.size = len(self.chosen)

    def rows(self, epoch: int, begin: int, count: int) -> Any:
        return self.chosen[super().rows(epoch, begin, count)]

    def facts(self) -> List[bytes]:
        return [b"indices", self.chosen.tobytes()]


class WeightedDraw(Draw):
    """Each position alone, with replacement, in proportion to weights."""

    draws_once = False

    def __init__(self, sizes: Sequence[int], seed: int, weights: Any) -> None:
        import numpy

        super().__init__(sizes, seed, "random")
        try:
            given = numpy.asarray(weights, dtype=numpy.float64)
        except (TypeError, ValueError, RuntimeError) as error:  # also of torch's tensors
            raise UsageError(f"weights cannot be made an array: {error}") from error
        if given.shape != (self.samples,):
            raise UsageError(f"weights have shape {given.shape}, but there are {self.samples} samples")
        if not (numpy.isfinite(given).all() and (given >= 0).all() and (given > 0).any()):
            raise UsageError("weights must be finite, none below 0, and not all 0")
        with numpy.errstate(over="ignore"):
            self.sums = numpy.cumsum(given)
        if not numpy.isfinite(self.sums[-1]):
            self.sums = numpy.cumsum(given / given.max())

    def rows(self, epoch: int, begin: int, count: int) -> Any:
        import numpy

        key = _shale.epoch_key(self.seed ^ 0x7765696768746564, epoch)  # the letters "weighted"
        words = words_of(key, numpy.arange(begin, begin + count, dtype=numpy.uint64))
        drawn = (words >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-53 * self.sums[-1]
        return numpy.minimum(numpy.searchsorted(self.sums, drawn, side="right"), self.samples - 1).astype(numpy.int64)

    def facts(self) -> List[bytes]:
        return [b"weights", self.sums.tobytes()]


class ProportionalDraw(Draw):
    """Several datasets, so many samples of each in every group of positions, each dataset in an order of its own, over and over: an epoch goes
    on in each of them where the one before ended. It has as many whole groups as there are samples for, at least one."""

    draws_once = False

    def __init__(self, sizes: Sequence[int], seed: int, shuffle: Union[bool, str], proportions: Any) -> None:
        super().__init__(sizes, seed, shuffle)
        self.quotas = _quotas(proportions, len(sizes))
        if 0 in sizes:
            raise UsageError(f"dataset {list(sizes).index(0)} of proportions is empty")
        self.sizes = list(sizes)
        self.groups = max(1, self.samples // sum(self.quotas))
        self.size = self.groups * sum(self.quotas)

    def rows(self, epoch: int, begin: int, count: int) -> Any:
        import numpy

        group = sum(self.quotas)
        key = _shale.epoch_key(self.seed ^ 0x70726F706F727469, epoch)  # the letters "proporti"
        found = numpy.empty(count, numpy.int64)
        positions = numpy.arange(begin, begin + count)
        places = numpy.empty(count, numpy.int64)
        for number in range(begin // group, -(-(begin + count) // group)):
            inside = positions // group == number
            first = int(positions[inside][0]) - number * group
            places[inside] = _shale.random_rows(group, _shale.epoch_key(key, number), first, int(inside.sum()), 1)
        quota_begin = size_begin = 0
        for which, (quota, size) in enumerate(zip(self.quotas, self.sizes)):
            mine = (places >= quota_begin) & (places < quota_begin + quota)
            turns = positions[mine] // group * quota + places[mine] - quota_begin
            found[mine] = size_begin + self._turns_of(which, size, epoch * self.groups * quota, turns)
            quota_begin, size_begin = quota_begin + quota, size_begin + size
        return found

    def _turns_of(self, which: int, size: int, before: int, turns: Any) -> Any:
        """The rows that a dataset gives at these turns of an epoch, with so many turns before it."""
        import numpy

        first_lap, turned = divmod(before, size)
        turns = turns + turned
        rows = numpy.empty(len(turns), numpy.int64)
        for lap in numpy.unique(turns // size).tolist():
            order = EpochOrder(size, _shale.epoch_key(self.seed, (1 << 32) + which), (first_lap + lap) % (1 << 64), self.shuffle)
            here = turns // size == lap
            inside = turns[here] - lap * size
            begin = int(inside.min())
            rows[here] = order.rows(begin, int(inside.max()) - begin + 1)[inside - begin]
        return rows

    def facts(self) -> List[bytes]:
        return [b"proportions", repr((self.quotas, self.sizes)).encode()]


def _quotas(proportions: Any, datasets: int) -> List[int]:
    try:
        given = list(proportions)
        if any(map(is_bool, given)):
            raise TypeError("a bool is not a number")
        parts = [Fraction(each).limit_denominator(10_000) for each in given]
    except (TypeError, ValueError, OverflowError) as error:
        raise UsageError(f"proportions are {proportions!r}, expected numbers") from error
    if len(parts) != datasets or min(parts, default=Fraction(0)) <= 0:
        raise UsageError(f"proportions are {proportions!r}, expected {datasets} numbers above 0")
    common = math.lcm(*(part.denominator for part in parts))
    quotas = [int(part * common) for part in parts]
    divisor = math.gcd(*quotas)
    quotas = [quota // divisor for quota in quotas]
    if sum(quotas) > _MOST_QUOTA:
        raise UsageError(f"proportions are {proportions!r}: as whole numbers their sum is {sum(quotas)}, at most {_MOST_QUOTA} is supported")
    return quotas


def make_draw(sizes: Sequence[int], seed: int, shuffle: Union[bool, str], given: Dict[str, Any]) -> Draw:
    """By whichever of indices, weights and proportions is given. Errors: UsageError, IndexError."""
    names = [name for name, value in given.items() if value is not None]
    if len(names) > 1:
        raise UsageError(f"{' and '.join(names)} do not go together")
    if not names:
        return Draw(sizes, seed, shuffle)
    if shuffle == "block":
        raise UsageError(f"{names[0]} does not go with shuffle='block', which reads neighbours together")
    if names == ["indices"]:
        return ChosenDraw(sizes, seed, shuffle, given["indices"])
    if names == ["weights"]:
        return WeightedDraw(sizes, seed, given["weights"])
    return ProportionalDraw(sizes, seed, shuffle, given["proportions"])
