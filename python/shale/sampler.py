"""A sampler for PyTorch's loaders that keeps its place."""

from __future__ import annotations

import logging
import operator
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, Iterator, Mapping, Optional, Sized, Tuple

from shale._arguments import flag
from shale._sample_sources import identity
from shale.errors import MismatchError, UsageError
from shale.order import EpochOrder, shuffle_way, whole

if TYPE_CHECKING:
    from torch.utils.data import Sampler
else:
    try:
        from torch.utils.data import Sampler
    except ImportError:
        from typing import Generic, TypeVar

        class Sampler(Generic[TypeVar("Row")]):
            """What torch.utils.data.Sampler would be."""


STATE_VERSION = 1
_ROWS_AT_ONCE = 4096
log = logging.getLogger("shale")


class StatefulDistributedSampler(Sampler[int]):
    """Replaces ``torch.utils.data.DistributedSampler``, and keeps its place in the epoch.

    It works with a plain ``DataLoader``, torchdata's ``StatefulDataLoader``, Accelerate and Lightning, on one rank or on many.
    The order of an epoch is a pure function of seed, epoch and position: rank ``k`` of ``R`` takes the positions ``k``, ``k + R`` ..., in
    constant memory. So a state fits any number of ranks::

        sampler = StatefulDistributedSampler(dataset, seed=1)
        loader = DataLoader(dataset, batch_size=64, sampler=sampler, num_workers=4)
        for epoch in range(sampler.epoch, 90):
            sampler.set_epoch(epoch)
            for step, batch in enumerate(loader, 1):
                ...
                state = sampler.state_dict(samples_seen=step * 64)

    A sampler cannot know which of the samples that it handed out have been trained on: workers fetch batches ahead.
    Therefore ``samples_seen``.

    Attributes:
        epoch: the epoch that the next iteration is of.
        seed, num_replicas, rank, drop_last: as given.

    Args:
        dataset: anything with a length, or the number of samples.
        num_replicas, rank: default: those of ``torch.distributed``, else of the environment (``WORLD_SIZE`` and ``RANK``), else 1 and 0;
            in a process of MPI or SLURM that is one of several they must be given, or torch.distributed initialized.
        shuffle: True: ``"random"`` of docs/shuffle.md. False: in order.
        seed: of the order; the same on all ranks.
        drop_last: leave samples at the end out, so that all ranks have equally many.
        even_batches: without ``drop_last``: repeat samples of the beginning, so that all ranks have equally many, as
            ``DistributedSampler`` does. False: each sample once; some ranks have one more.

    Raises:
        shale.errors.UsageError: an argument is wrong.
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: Optional[int] = None,
        rank: Optional[int] = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
        *,
        even_batches: bool = True,
    ) -> None:
        self.samples = len(dataset) if isinstance(dataset, Sized) else whole(dataset, "dataset")
        self._dataset = dataset if isinstance(dataset, Sized) else None
        self._identity = ""
        self._look_again()
        self._is_placed = rank is not None
        self.rank, self.num_replicas = place_among_ranks(rank, num_replicas)
        self.shuffle = shuffle_way(shuffle)
        if self.shuffle == "block":
            raise UsageError("shuffle is 'block', which needs the reading of shale.torch.Loader; a sampler shuffles at random")
        self.seed = whole(seed, "seed")
        self.drop_last = flag(drop_last, "drop_last")
        self.even_batches = flag(even_batches, "even_batches")
        self.epoch = 0
        self._begin = 0  # of the next pass: a position
        self._pass = self._pass_from(0)
        self._handed_out = 0

    def __len__(self) -> int:
        """Samples of this rank in a whole epoch."""
        return self._pass_from(0).count

    def _pass_from(self, begin: int) -> Pass:
        return Pass(self.samples, self.epoch, begin, self.rank, self.num_replicas, self.even_batches, self.drop_last)

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is of this epoch: from its beginning, or, if it is the one of the loaded state, from there."""
        if whole(epoch, "epoch") != self.epoch:
            if self._begin:
                log.warning("set_epoch(%d) gives up the place at sample %d of epoch %d, which was loaded", epoch, self._begin, self.epoch)
            self.epoch, self._begin = operator.index(epoch), 0
        if self._pass.epoch != self.epoch:
            self._pass, self._handed_out = self._pass_from(self._begin), 0

    def __iter__(self) -> Iterator[int]:
        """The samples of this rank in the epoch, or in what is left of it after ``load_state_dict``. The next epoch follows
        when it is exhausted.

        Raises:
            shale.errors.MismatchError: the number of samples of the dataset has changed since the sampler was made.
        """
        if not self._is_placed:
            check_place(self.rank, self.num_replicas)
        self._look_again()
        now = self._pass = self._pass_from(self._begin)
        self._handed_out = 0
        order = EpochOrder(self.samples, self.seed, now.epoch, self.shuffle) if self.samples else None
        for done in range(0, now.count, _ROWS_AT_ONCE):
            for row in now.rows(order, done, min(_ROWS_AT_ONCE, now.count - done)).tolist():
                self._handed_out += 1
                if self._handed_out == now.count:  # before the last: who counts samples never comes back for the end
                    self._follow(now)
                yield row
        if now.count == 0:
            self._follow(now)

    def _follow(self, now: Pass) -> None:
        if self._pass is now and (self.epoch, self._begin) == (now.epoch, now.begin):
            self.epoch, self._begin = now.epoch + 1, 0

    def state_dict(self, samples_seen: Optional[int] = None) -> Dict[str, Any]:
        """Where the epoch is, the same on all ranks that have seen equally many samples.

        Args:
            samples_seen: how many samples of the current iteration this rank has taken, since it began (not since the epoch
                began, if it was resumed): steps times the size of a batch. Default: all that were handed out, which is right
                only if nothing is fetched ahead (``num_workers=0``, or ``StatefulDataLoader``, which counts by itself).
        """
        now = self._pass
        seen = self._handed_out if samples_seen is None else whole(samples_seen, "samples_seen")
        return {"version": STATE_VERSION, "epoch": now.epoch, "samples_seen": now.seen_by_all(seen), **self._facts()}

    def _facts(self) -> Dict[str, Any]:
        return {"samples": self.samples, "seed": self.seed, "shuffle": self.shuffle, "dataset": self._identity}

    def _look_again(self) -> None:
        """A state is of the samples that there are now: those of an ImageFolder may be set at any time."""
        if self._dataset is None:
            return
        if len(self._dataset) != self.samples:
            raise MismatchError(
                f"the dataset has {len(self._dataset)} samples, and had {self.samples} when the sampler was made; make another sampler"
            )
        self._identity = identity([self._dataset])

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration goes on there, on any number of ranks.

        Raises:
            shale.errors.MismatchError: the state is of another dataset, seed or version.
            shale.errors.UsageError: it is not a state.
        """
        self._look_again()
        mine = self._facts()
        if not self._identity and isinstance(state, Mapping):  # of a number of samples
            mine["dataset"] = state.get("dataset", "")
        epoch, begin = checked_state(state, mine, "the sampler")
        self.epoch, self._begin = epoch, begin
        self._pass, self._handed_out = self._pass_from(begin), 0


class Pass:
    """One iteration over an epoch from a position on, and the part of a rank in it. Plain numbers."""

    def __init__(self, samples: int, epoch: int, begin: int, rank: int, replicas: int, is_even: bool, drops: bool) -> None:
        self.samples, self.epoch, self.begin, self.rank, self.replicas = samples, epoch, begin, rank, replicas
        self.drops = drops
        left = samples - begin
        if drops:
            self.count = left // replicas
        elif is_even:
            self.count = -(-left // replicas)
        else:
            self.count = left // replicas + (rank < left % replicas)

    def rows(self, order: Optional[EpochOrder], done: int, count: int) -> Any:
        """The next samples of this rank. Behind the end the epoch begins again: what fills up the ranks."""
        import numpy

        assert order is not None
        first = self.begin + self.rank + done * self.replicas
        inside = max(0, min(count, -(-(self.samples - first) // self.replicas)))
        rows = order.rows(first, inside, self.replicas) if inside else numpy.empty(0, numpy.int64)
        more = [order[(first + i * self.replicas) % self.samples] for i in range(inside, count)]
        return numpy.concatenate([rows, numpy.array(more, numpy.int64)]) if more else rows

    def seen_by_all(self, seen: int) -> int:
        """The position in the epoch when every rank has taken so many, or all that it has. The same on ranks with one more or less."""
        is_over = self.drops and 0 < self.count <= seen  # what is left is dropped
        return self.samples if is_over else min(self.samples, self.begin + seen * self.replicas)


def checked_state(state: Any, mine: Mapping[str, Any], whose: str) -> Tuple[int, int]:
    """Epoch and samples seen, if the rest of the state is as it must be. Errors: MismatchError; UsageError."""
    if not isinstance(state, Mapping):
        raise UsageError(f"the state is {type(state).__name__}, expected what state_dict returned")
    if "version" in state and _differs(state["version"], STATE_VERSION):
        raise MismatchError(f"the state has version {state['version']!r}, this shale reads {STATE_VERSION}")
    for name, value in mine.items():
        if name in state and _differs(state[name], value):
            hint = "; the dataset is another one, or was appended to" if name == "samples" else ""
            raise MismatchError(f"the state is of {name} {state[name]!r}, {whose} has {value!r}{hint}")
    for name in ("version", "epoch", "samples_seen", *mine):
        if name not in state:
            raise UsageError(f"the state has no {name!r}: it is not one of {whose}, or it was truncated")
    epoch, seen = whole(state["epoch"], "epoch of the state"), whole(state["samples_seen"], "samples_seen of the state")
    if seen > state["samples"]:
        raise UsageError(f"the state has seen {seen} of {state['samples']} samples: it was changed, or is damaged")
    return epoch, seen


def _differs(found: Any, value: Any) -> bool:
    """True is not 1."""
    return isinstance(found, bool) != isinstance(value, bool) or found != value


def place_among_ranks(rank: Optional[int], replicas: Optional[int], group: Any = None) -> Tuple[int, int]:
    """Rank and number of ranks: as given, of torch.distributed, or of the environment. Errors: UsageError."""
    if (rank is None) != (replicas is None) and group is None:
        given, missing = ("rank", "num_replicas") if replicas is None else ("num_replicas", "rank")
        raise UsageError(f"{given} is given, but {missing} is not")
    if rank is None or replicas is None:
        rank, replicas = _found_place(group)
    rank, replicas = whole(rank, "rank"), whole(replicas, "num_replicas")
    if replicas < 1 or rank >= replicas:
        raise UsageError(f"rank is {rank} of {replicas}, expected 0 to {replicas - 1}" if replicas else "num_replicas is 0, expected at least 1")
    return rank, replicas


def _found_place(group: Any) -> Tuple[int, int]:
    placed = _place_in(group)
    if placed is not None:
        if placed[0] < 0:
            raise UsageError("this process is not in process_group; give each process the group that it is in, such as its data-parallel one")
        return placed
    if group is not None:
        raise UsageError("process_group is given, but torch.distributed is not initialized")
    if "RANK" in os.environ or os.environ.get("WORLD_SIZE", "1") != "1":
        found = _place_of("RANK", "WORLD_SIZE")
        if found[1] > 1:
            log.warning("rank %d of %d, from RANK and WORLD_SIZE: torch.distributed is not initialized", *found)
        return found
    for names in _LAUNCHERS:
        is_one_of_several = names[0] in os.environ and os.environ.get(names[1], "1") != "1"
        # sbatch sets SLURM_NTASKS in its script, too, which is one process, and number 0.
        if is_one_of_several and (names[1] != "SLURM_NTASKS" or os.environ[names[0]] != "0"):
            rank, replicas = _place_of(*names)
            raise UsageError(
                f"{names[0]} and {names[1]} say that this is process {rank} of {replicas}, but torch.distributed is not initialized; initialize it first, "
                f"or pass rank={rank}, num_replicas={replicas}, or rank=0, num_replicas=1 for all samples in every process"
            )
    return 0, 1


# What launchers tell each of their processes, besides torch's own, as lib/shale/ops/choose_part.cpp has it.
_LAUNCHERS = (
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
)


def _place_of(*names: str) -> Tuple[int, int]:
    values = [os.environ.get(name) for name in names]
    try:
        rank, replicas = (int(value or "") for value in values)
    except ValueError:
        found = " and ".join(f"{name}={value!r}" if value is not None else f"no {name}" for name, value in zip(names, values))
        raise UsageError(f"the environment has {found}, expected numbers; initialize torch.distributed first, or pass rank and num_replicas") from None
    return rank, replicas


def _place_in(group: Any) -> Optional[Tuple[int, int]]:
    """Of this process, by torch.distributed, if that is initialized."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(group), distributed.get_world_size(group)


def check_place(rank: int, replicas: int) -> None:
    """Errors: UsageError, if torch.distributed says another place by now than the one that was found: every rank would have the same samples."""
    now = _place_in(None)
    if now not in (None, (rank, replicas)):
        raise UsageError(
            f"this was made as rank {rank} of {replicas}, but torch.distributed, initialized since, says rank {now[0]} of {now[1]}; "
            "make it after init_process_group, or pass rank and num_replicas"
        )
