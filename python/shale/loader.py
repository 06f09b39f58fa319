"""The loader: batches of a dataset by threads, in an order that can be resumed exactly."""

from __future__ import annotations

import copy
import functools
import operator
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from shale import _shale
from shale._arguments import bytes_of, field_names, flag, one_of, whole_number
from shale._batch_memory import BufferPool, Rows, empty_rows, stack, why_not_stacked
from shale._batch_views import batch_views
from shale._blocks import SMALLEST_PIECE, Piece, RunPlanner, block_and_lanes, mixes, read_pieces, run_bytes
from shale._draw import make_draw
from shale._epoch_threads import LoadedAhead
from shale._other_loaders import OTHER_WORDS, with_hints
from shale._sample_sources import SampleSources
from shale._varied_fields import Replaced, VariedFields
from shale._views import draws_by_itself, flattened, takes_seed, with_seed
from shale.dataset import Dataset
from shale.errors import ContentError, DamagedError, UsageError
from shale.order import at_least_one, sample_seeds, shuffle_way, whole
from shale.sampler import STATE_VERSION, check_place, checked_state, log, place_among_ranks

_MOST_THREADS = 8
_MOST_SUBSTITUTES = 100


class SkippedSample(NamedTuple):
    """A sample that a loader with ``on_error="skip"`` left out."""

    dataset: str
    row: int
    error: Exception


class _Step(NamedTuple):
    """What one batch of one rank is made of. Plain data, but for the pieces of "block"."""

    epoch: int
    seen: int  # of the epoch, by all ranks, with this batch
    is_last: bool  # of this rank
    positions: Any
    numbers: Any  # of the samples
    pieces: Sequence[Optional[Piece]]  # for each sample; empty: they are read one by one
    to_read: Sequence[Piece]


class _Place:
    """Where an epoch is: of the latest iteration, or where the next one begins."""

    def __init__(self, epoch: int, begin: int) -> None:
        self.epoch, self.begin, self.seen = epoch, begin, begin


class Loader:
    """Batches of a dataset, read, decoded and stacked by threads, without worker processes; a stopped epoch is resumed exactly.

    ::

        loader = shale.torch.Loader(shale.Dataset("train", decode="torchrgb8", transform=crop), batch_size=64, shuffle=True, seed=1)
        for epoch in range(loader.epoch, 90):
            loader.set_epoch(epoch)
            for batch in loader:
                train(batch["image"], batch["label"])
                state = loader.state_dict()      # at most 1 KiB, the same on all ranks; for the checkpoint

    A batch is a dictionary with the fields of the samples, ``key`` among them. Numbers, and arrays and tensors of one shape and dtype, are
    stacked to a tensor; other values are lists. Fields of arrays whose shapes differ are lists of tensors, and fields that samples may lack are lists
    with None, in every batch; ``pad`` and ``ragged`` make tensors of them. A batch belongs to whoever holds it: its memory is used again only when
    nothing refers to it any more, no view of it either.

    The order is a pure function of seed, epoch and position (docs/shuffle.md), independent of ranks, threads and batch size. A step of all
    ranks takes the next ``batch_size * num_replicas`` positions, and each rank its part of them. docs/loading.md says
    which order to use when.

    Threads suit what releases the GIL: reading, decoding to ``"rgb8"`` or ``"torchrgb8"``, torch and NumPy. For slow transforms in pure Python
    use torch's ``DataLoader`` with ``StatefulDistributedSampler``, and its processes.

    Attributes:
        epoch: the epoch that the next iteration is of.
        batch_size, seed, shuffle, drop_last, even_batches, num_threads, rank, num_replicas: as given, or found.
        block, lanes: of ``"block"``, samples in a run and open runs; else None.

    Args:
        dataset: a path, a ``shale.Dataset``, or any dataset with a length and samples by number; or a list of them, whose samples are
            numbered one after the other.
        batch_size: samples of a batch of one rank.
        shuffle: False: in order. True or ``"random"``: a permutation of all samples. ``"block"``: samples are drawn evenly from runs of
            neighbours, each read in one piece: for data that is larger than memory.
        seed: of the order and of ``sample_seeds``; the same on all ranks.
        drop_last: leave the samples out that do not fill a step of all ranks.
        even_batches: all ranks have equally many samples in every step: samples of the beginning are repeated, as in
            ``DistributedSampler``. Default: True if the order is shuffled, else False, because repeated samples falsify a validation;
            some ranks may then have one batch less.
        num_threads: default: the CPUs that the job may use, at most 8; for ``"block"`` one more reads. 0: batches are loaded by the caller.
        collate_fn: called with the list of samples of a batch, instead of stacking.
        transform: a ``Compose`` of torchvision's transforms, v1 or v2, or of ``shale.torch.transforms``: images are read, cropped, scaled and
            converted by the threads while they are decoded, straight into a tensor of shape (B, C, H, W); ``print(loader)`` says what of it runs
            where, docs/loading.md which fields are images. Its random numbers are those of the seed of 64 bits of sample and epoch.
            Any other function is called with each sample, after the dataset's own transform; if it has a parameter ``seed``, with that seed
            as well, which is the same with any number of threads and ranks.
        prefetch_factor: batches that each thread loads ahead. Default: 2; 1 for ``"block"``, whose open runs are read ahead already.
        pin_memory: pinned memory, for copies to a GPU; without CUDA it does nothing.
        rank, num_replicas: default: those of ``process_group`` or ``torch.distributed``, else of the environment, which is logged, else 0 and 1;
            in a process of MPI or SLURM that is one of several they must be given, or torch.distributed initialized.
        shuffle_buffer: for ``"block"``: bytes of samples that are held, on average, by all ranks together: a number, or a string such as ``"256MiB"``.
        shuffle_block: for ``"block"``: bytes of a run. Default: a 256th of the buffer, at least 128 KiB (of a buffer below 4 MiB a 32nd) and
            at most 1 MiB; of a state that is loaded, what it says.
        process_group: of torch.distributed, and of this process: the ranks that share the epoch. Give each process its data-parallel group;
            processes with the same rank in their groups, of a tensor-parallel job, then get the same batches.
        as_tuple: names of fields: a batch is a tuple of them.
        indices: numbers of the samples that make an epoch, or a boolean mask. Neither this nor weights nor proportions go with ``"block"``.
        weights: a weight for each sample: every position of the epoch is drawn by them, with replacement.
        proportions: for several datasets: so many samples of each in every group of ``sum(proportions)`` samples; small datasets come more than
            once in an epoch, of large ones each epoch takes another part.
        pad: by name of a field what shorter arrays are filled up with: ``pad={"tokens": 0}``. The batch has a tensor ``tokens`` of shape (B, longest), of a
            field (?, 4) (B, longest, 4), and ``tokens_length``, int64 of shape (B,): the length of the free side, -1 where the value is absent. Of a
            field with k free sides all of them are filled up, and the lengths have the shape (B, k); so it is with all k sides of arrays
            that a transform makes. Of a field of numbers it is what an absent one becomes.
        ragged: what else becomes of arrays whose shapes differ. ``"list"``; ``"nested"``: nested tensors of the layout ``torch.jagged``, (B, j, ...), of fields
            whose first side alone is free, which no sample lacks, and whose dtype torch has. Arrays of which a transform makes others are stacked if they then have one shape.
        reuse_buffers: a batch is valid until the next one only; less memory is touched.
        on_error: ``"raise"``; ``"skip"``: a damaged sample is replaced by the next one of the order that is not damaged, on every rank
            alike, and listed in ``skipped``. Errors of transforms are always raised.
        scaled_decoding: for a ``Compose``: JPEGs are decoded at 1/2, 1/4 or 1/8 where that is still as large as what a box is scaled to.
            False: always at full size, to the pixels of torchvision within two levels on average.
        memory_format: for a ``Compose``: ``torch.contiguous_format``, the default, or ``torch.channels_last``.

    Raises:
        shale.errors.Error: an argument is wrong, or the dataset cannot be opened.
        IndexError: ``indices`` has the number of a sample that is not there.
    """

    @with_hints
    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        *,
        shuffle: Union[bool, str] = False,
        seed: int = 0,
        drop_last: bool = False,
        even_batches: Optional[bool] = None,
        num_threads: Optional[int] = None,
        collate_fn: Optional[Callable[[List[Any]], Any]] = None,
        transform: Optional[Callable[..., Any]] = None,
        prefetch_factor: Optional[int] = None,
        pin_memory: bool = False,
        rank: Optional[int] = None,
        num_replicas: Optional[int] = None,
        shuffle_buffer: Union[int, str] = "256MiB",
        shuffle_block: Union[int, str, None] = None,
        process_group: Any = None,
        as_tuple: Optional[Sequence[str]] = None,
        indices: Any = None,
        weights: Any = None,
        proportions: Optional[Sequence[Any]] = None,
        pad: Optional[Mapping[str, Any]] = None,
        ragged: str = "list",
        reuse_buffers: bool = False,
        on_error: str = "raise",
        scaled_decoding: bool = True,
        memory_format: Any = None,
    ) -> None:
        self._given = {name: value for name, value in locals().items() if name != "self"}
        for name, given in (("collate_fn", collate_fn), ("transform", transform)):
            if given is not None and not callable(given):
                raise UsageError(f"{name} is {given!r}, expected a function")
        self.shuffle = shuffle_way(shuffle)
        if weights is not None and self.shuffle is False:
            self.shuffle = "random"
        self.batch_size = at_least_one(batch_size, "batch_size")
        self.seed = whole(seed, "seed")
        self.drop_last = flag(drop_last, "drop_last")
        self.even_batches = self.shuffle is not False if even_batches is None else flag(even_batches, "even_batches")
        threads = whole_number(num_threads, "num_threads", 0, 1024)
        self.num_threads = min(_MOST_THREADS, _shale.usable_cpus()) if threads is None else threads
        self.rank, self.num_replicas = place_among_ranks(rank, num_replicas, process_group)
        self.on_error = one_of(on_error, "on_error", ("raise", "skip"))
        self.as_tuple = None if as_tuple is None else tuple(field_names(as_tuple, "as_tuple"))
        self.reuse_buffers = flag(reuse_buffers, "reuse_buffers")
        self._collate = collate_fn
        self._transforms = [] if transform is None else list(map(with_seed, flattened(transform)))
        self._sources = SampleSources(dataset)
        described, names, is_replaced = self._sources.described()
        self._varied = VariedFields(described, None if transform is not None else names, pad, one_of(ragged, "ragged", ("list", "nested")), is_replaced)
        self._tuple_names = self._sources.tuple_names() if self._varied.are_any() and transform is None and not is_replaced else None
        if self._tuple_names and pad:
            raise UsageError("pad gives a batch entries of other names: pass as_tuple to the loader, not to the dataset")
        self._views, self._views_reason = batch_views(self._sources, transform, flag(scaled_decoding, "scaled_decoding"), memory_format)
        self._in_python = flattened(transform) if self._views is None else self._views.plan.rest
        for which, each in enumerate(self._sources.datasets):
            if takes_seed(getattr(each, "transform", None)):
                log.warning("the transform of %s has a parameter `seed`, which only a transform of the loader gets", self._sources.name(which))
        self._unseeded = ", ".join(type(each).__name__ for each in self._in_python if draws_by_itself(each)) if self.num_threads else ""
        if self._unseeded:
            log.warning("%s: random numbers of torch, which threads share, so that they differ from run to run (docs/loading.md)", self._unseeded)
        chosen = {"indices": indices, "weights": weights, "proportions": proportions}
        self._draw = make_draw(self._sources.sizes, self.seed, self.shuffle, chosen)
        self._identity = self._sources.identity(self._draw.facts())
        buffer = bytes_of(shuffle_buffer, "shuffle_buffer")
        run = run_bytes(buffer) if shuffle_block is None else bytes_of(shuffle_block, "shuffle_block")
        self._sizes = {"shuffle_buffer": buffer, "shuffle_block": run}
        self._chooses_run = shuffle_block is None
        if self.shuffle == "block":
            self._sources.open_raw()
            self._choose_blocks()
            self._warn_of_few_runs()
        for_each_thread = (1 if self.shuffle == "block" else 2) if prefetch_factor is None else at_least_one(prefetch_factor, "prefetch_factor")
        self._ahead = max(1, self.num_threads) * for_each_thread
        self._pool = BufferPool(self._ahead + 2, _pins(flag(pin_memory, "pin_memory")))
        self._even_fields = self._sources.even_fields() if collate_fn is None and self._views is None else {}
        self._skipped: Dict[int, SkippedSample] = {}
        self._place = _Place(0, 0)
        self._next = self._place
        self._running: Callable[[], Optional[LoadedAhead]] = lambda: None

    def _choose_blocks(self) -> None:
        mean = max(1.0, self._sources.bytes_per_sample())
        self._together = max(1, round(SMALLEST_PIECE / mean))
        draw = copy.copy(self._draw)  # an iteration keeps the one that it began with
        draw.block, draw.lanes = block_and_lanes(draw.size or 1, mean, self._sizes["shuffle_buffer"], self._sizes["shuffle_block"])
        self._draw = draw

    def _warn_of_few_runs(self) -> None:
        block, lanes = self._draw.block or 1, self._draw.lanes or 1
        size, step = self._draw.size, self.batch_size * self.num_replicas
        if step >= size or mixes(step, block, lanes):
            return
        buffer, run = self._sizes["shuffle_buffer"], self._sizes["shuffle_block"]
        while not mixes(step, block, lanes):
            buffer *= 2
            run = run_bytes(buffer) if self._chooses_run else run
            block, lanes = block_and_lanes(size, max(1.0, self._sources.bytes_per_sample()), buffer, run)
        log.warning(
            "a step takes %d samples, more than seven eighths of the open runs (%d): of a dataset that is sorted by label, batches have fewer labels "
            "than with shuffle='random'; shuffle_buffer='%dMiB' opens runs enough",
            *(step, self._draw.lanes, -(-buffer // (1 << 20))),
        )

    @property
    def block(self) -> Optional[int]:
        return self._draw.block

    @property
    def lanes(self) -> Optional[int]:
        return self._draw.lanes

    # --- how long, and where

    @property
    def epoch(self) -> int:
        return self._next.epoch

    def __len__(self) -> int:
        """Batches of this rank in a whole epoch."""
        return self._steps_of(self._draw.size)

    def _steps_of(self, samples: int) -> int:
        steps, rest = divmod(samples, self.batch_size * self.num_replicas)
        has_rest = rest > 0 and not self.drop_last and (self.even_batches or rest > self.rank)
        return steps + has_rest

    def set_epoch(self, epoch: int) -> None:
        """The next iteration is of this epoch: from its beginning, or, if it is the one of the loaded state, from there."""
        if whole(epoch, "epoch") != self._next.epoch:
            if self._next.begin:
                log.warning(
                    "set_epoch(%d) gives up the place at sample %d of epoch %d, which was loaded", epoch, self._next.begin, self._next.epoch
                )
            self._next = _Place(operator.index(epoch), 0)
        if self._place.epoch != self._next.epoch:
            self._place = self._next

    @property
    def dataset(self) -> Any:
        """What it reads from: of several datasets a torch.utils.data.ConcatDataset."""
        if len(self._sources.datasets) == 1:
            return self._sources.datasets[0]
        from torch.utils.data import ConcatDataset

        return ConcatDataset(self._sources.datasets)

    if not TYPE_CHECKING:  # which would take every name then

        def __getattr__(self, name: str) -> Any:
            hint = f"; {OTHER_WORDS[name]}" if name in OTHER_WORDS else ""
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self)

    @property
    def sampler(self) -> Loader:
        """The loader itself: where Lightning looks for ``set_epoch``, which it calls before each epoch."""
        return self

    def __reduce__(self) -> Any:
        """A copy, for another process, is built again, and begins where the next iteration does; threads and memory stay here."""
        return _made_again, (type(self), self._given, self._next.epoch, self._next.begin)

    def state_dict(self) -> Dict[str, Any]:
        """Where the epoch is: after the batch that was yielded last, not those that were loaded ahead; or where ``set_epoch`` has put it since.
        The same on all ranks at a step.

        At most 1 KiB as JSON. It fits any number of ranks and threads, and any batch size.
        """
        return {"version": STATE_VERSION, "epoch": self._place.epoch, "samples_seen": self._place.seen, **self._facts()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The next iteration goes on there.

        Raises:
            shale.errors.MismatchError: the state is of another dataset (or of one that was appended to since), seed, order or version.
            shale.errors.UsageError: it is not a state of a loader, or truncated.
        """
        self._look_again()
        mine = self._facts()
        follows = "shuffle_block" in mine and self._chooses_run and isinstance(state, Mapping) and "shuffle_block" in state
        if follows:  # the size that another version chose for this buffer, too
            mine["shuffle_block"] = at_least_one(state["shuffle_block"], "shuffle_block of the state")
        epoch, begin = checked_state(state, mine, "the loader")
        if follows and mine["shuffle_block"] != self._sizes["shuffle_block"]:
            self._given["shuffle_block"] = self._sizes["shuffle_block"] = mine["shuffle_block"]
            self._choose_blocks()
        self._place = self._next = _Place(epoch, begin)

    def _facts(self) -> Dict[str, Any]:
        facts = {"samples": self._draw.size, "seed": self.seed, "shuffle": self.shuffle}
        if self.shuffle == "block":
            facts.update(self._sizes)
        return {**facts, "dataset": self._identity}

    def _look_again(self) -> None:
        if not all(isinstance(dataset, Dataset) for dataset in self._sources.datasets):
            self._identity = self._sources.identity(self._draw.facts())

    # --- batches

    def __iter__(self) -> Iterator[Any]:
        """The batches of this rank in the epoch, or in what is left of it after ``load_state_dict``. The next epoch follows when it is
        exhausted; an iteration that is left in the middle begins again.

        Raises:
            shale.errors.UsageError: in a process that was forked while the loader was iterated; or torch.distributed, which was initialized after
                the loader was made, has another rank.
        """
        running = self._running()
        if running is not None and running.is_running_elsewhere():
            raise UsageError("the loader was being iterated when this process was forked; make one loader in each process, or fork before the iteration")
        if self._given["rank"] is None and self._given["process_group"] is None:
            check_place(self.rank, self.num_replicas)
        self._look_again()
        place = self._place = _Place(self._next.epoch, self._next.begin)
        prepare = self._read_pieces_of if self.shuffle == "block" else None
        ahead = LoadedAhead(self._steps(place.epoch, place.begin), self._load, self.num_threads, self._ahead, prepare)
        self._running = weakref.ref(ahead)
        return _Iteration(self, place, ahead)

    def _next_follows(self, place: _Place) -> None:
        if (self._next.epoch, self._next.begin) == (place.epoch, place.begin):
            self._next = _Place(place.epoch + 1, 0)

    def _finished(self, place: _Place) -> None:
        self._next_follows(place)
        if self._place is place:
            self._place = self._next

    def _steps(self, epoch: int, begin: int) -> Iterator[_Step]:
        import numpy

        draw = self._draw
        size, together = draw.size, self.batch_size * self.num_replicas
        planner = RunPlanner(draw.order(epoch), begin, self._together) if self.shuffle == "block" and size else None
        for at in range(begin, size, together):
            count = min(together, size - at)
            if count < together and self.drop_last:
                return
            drawn = None if planner is None else draw.order(epoch).runs(at, count)
            numbers = draw.rows(epoch, at, count) if drawn is None else drawn[:, 0]
            # Ranks take neighbours: of the order, or of the lanes, so that each reads whole runs.
            dealt = numpy.arange(count) if drawn is None else numpy.argsort(drawn[:, 1], kind="stable")
            missing = -count % self.num_replicas if self.even_batches else 0
            mine = numpy.array_split(numpy.concatenate([dealt, count + numpy.arange(missing)]), self.num_replicas)[self.rank]
            own = numpy.sort(mine[mine < count])
            pieces: List[Optional[Piece]] = []
            to_read: List[Piece] = []
            if planner is not None:
                are_mine = numpy.zeros(count, bool)
                are_mine[own] = True
                found, to_read = planner.plan(drawn, are_mine.tolist())
                pieces = [*found, *[None] * (len(mine) - len(own))]
            repeated = (mine[mine >= count] - count) % size  # positions at the beginning of the epoch
            more = [int(draw.rows(epoch, position, 1)[0]) for position in repeated.tolist()]
            positions = numpy.concatenate([own + at, repeated])
            if len(positions):
                every = numpy.concatenate([numbers[own], numpy.array(more, numpy.int64)])
                yield _Step(epoch, at + count, self._steps_of(size - at - count) == 0, positions, every, pieces, to_read)

    def _read_pieces_of(self, step: _Step) -> None:
        if step.to_read:
            read_pieces(step.to_read, self._sources.read_raw)

    def _load(self, step: _Step) -> tuple:
        """(batch, leases of its memory, samples seen, whether it is the last)."""
        leases: List[weakref.finalize] = []
        ready: Sequence[Rows]
        replaced = Replaced(self._varied.names)
        numbers = step.numbers.tolist()
        seeds = self._seeds(step)
        if self._views is not None:
            samples, ready = self._views.load(step, seeds, self._pool, leases, self._instead)
            for place, number in enumerate(numbers):
                finish = functools.partial(self._noted, number, self._views.finish)
                samples[place] = replaced.watch(samples[place], lambda sample: finish(sample, number, seeds[place]))
        elif step.pieces:
            # One after the other, so that of each sample only what the transform makes of it is held.
            ready = ()
            samples = [self._transformed(self._one(step, place, number), number, seeds[place], replaced) for place, number in enumerate(numbers)]
        else:
            samples, ready = self._samples_of(step, numbers, leases)
            for place, number in enumerate(numbers):
                samples[place] = self._transformed(samples[place], number, seeds[place], replaced)
        if self._collate is not None:
            batch = self._collate(samples if self.as_tuple is None else [_tuple_of(sample, self.as_tuple) for sample in samples])
            return batch, leases, step.seen, step.is_last
        if self.as_tuple is not None:
            names = [name for name in self.as_tuple if name not in self._varied.lengths()]
            samples = [sample if sample is None else dict(zip(names, _tuple_of(sample, names))) for sample in samples]
        elif self._tuple_names is not None:
            samples = [dict(zip(self._tuple_names, sample)) for sample in samples]
        for place, sample in enumerate(samples):
            problem = why_not_stacked(sample, samples[0])
            if problem:
                raise UsageError(f"{self._name(numbers[place])} {problem}")
        batch = stack(samples, self._pool, leases, ready, functools.partial(self._varied.columns, replaced) if self._varied.are_any() else None)
        if self._views is not None:
            batch = self._views.laid_out(batch)
        as_tuple = self.as_tuple or self._tuple_names
        if as_tuple is not None:
            batch = _tuple_of(batch, as_tuple)
        return batch, leases, step.seen, step.is_last

    def _seeds(self, step: _Step) -> Sequence[Any]:
        if not self._transforms:
            return [0] * len(step.numbers)
        # With replacement a sample may come twice in an epoch: there each position has a seed.
        return sample_seeds(self.seed, step.epoch, step.numbers if self._draw.draws_once else step.positions).tolist()  # type: ignore[no-any-return]

    def _transformed(self, sample: Any, number: int, seed: int, replaced: Replaced) -> Any:
        def all_of(sample: Any) -> Any:
            for transform in self._transforms:
                sample = self._noted(number, transform, sample, seed)
            return sample

        return replaced.watch(sample, all_of)

    def _noted(self, number: int, transform: Callable[..., Any], *given: Any) -> Any:
        """What a function makes of a sample, whose exceptions name the sample."""
        try:
            return transform(*given)
        except Exception as error:
            # StopIteration would look like the end of the epoch.
            raised = RuntimeError("StopIteration was raised by a transform") if isinstance(error, StopIteration) else error
            if hasattr(raised, "add_note"):
                raised.add_note(f"in the transform of {self._name(number)}")
                encoded = [name for name, value in given[0].items() if isinstance(value, bytes)] if isinstance(given[0], dict) else []
                if encoded and "bytes" in str(error) and self._views is None:
                    raised.add_note(f"{' and '.join(encoded)} of the sample: bytes; shale.Dataset(path, decode='pil') gives images")
            if raised is error:
                raise
            raise raised from error

    def _name(self, number: int) -> str:
        which, row = self._sources.place(number)
        return f"sample {row} of {self._sources.name(which)}"

    def _samples_of(self, step: _Step, numbers: List[int], leases: List[weakref.finalize]) -> Tuple[List[Any], Sequence[Rows]]:
        """The samples, and what is read to where the batch has it already."""
        try:
            if not self._even_fields:
                return self._sources.read(numbers), ()
            rows = {name: empty_rows(len(numbers), *even, self._pool, leases) for name, even in self._even_fields.items()}
            return self._sources.read_into(numbers, {name: each.arrays for name, each in rows.items()}), list(rows.values())
        except (DamagedError, ContentError):
            if self.on_error == "raise":
                raise
        return [self._one(step, place, number) for place, number in enumerate(numbers)], ()

    def _one(self, step: _Step, place: int, number: int) -> Any:
        """A sample alone, or what takes its place."""
        piece = step.pieces[place] if step.pieces else None
        try:
            if piece is None:
                return self._sources.read([number])[0]
            raw = piece.take(number)
            if isinstance(raw, Exception):
                raise raw
            return self._sources.finish_raw(number, raw)
        except (DamagedError, ContentError) as error:
            return self._instead(step, place, error, lambda number: self._sources.read([number])[0])

    def _instead(self, step: _Step, place: int, cause: Exception, read: Callable[[int], Any]) -> Any:
        """What takes the place of a damaged sample: the next one of the order that can be read. Raises with ``on_error="raise"``."""
        if self.on_error == "raise":
            raise cause
        self._note_skipped(int(step.numbers[place]), cause)
        position = int(step.positions[place])
        for further in range(1, min(_MOST_SUBSTITUTES, self._draw.size - 1) + 1):
            number = int(self._draw.rows(step.epoch, (position + further) % self._draw.size, 1)[0])
            if number in self._skipped:
                continue
            try:
                return read(number)
            except (DamagedError, ContentError) as error:
                self._note_skipped(number, error)
        raise cause

    def _note_skipped(self, number: int, error: Exception) -> None:
        which, row = self._sources.place(number)
        self._skipped.setdefault(number, SkippedSample(self._sources.name(which), row, error.with_traceback(None)))

    @property
    def skipped(self) -> List[SkippedSample]:
        """The damaged samples that ``on_error="skip"`` has left out so far, each once, in the order of the dataset."""
        return [self._skipped[number] for number in sorted(dict(self._skipped))]

    def __repr__(self) -> str:
        names = ", ".join(self._sources.name(which) for which in range(len(self._sources.datasets)))
        order = "in order" if self.shuffle is False else f"shuffle={self.shuffle!r}"
        blocks = f" (runs of {self.block} samples, {self.lanes} open)" if self.shuffle == "block" else ""
        return (
            f"shale.torch.Loader({names!r}: {self._draw.size} samples, {order}{blocks}, seed {self.seed}; {len(self)} batches of {self.batch_size}, "
            f"rank {self.rank} of {self.num_replicas}; {self.num_threads} threads){self._what_runs_where()}"
        )

    def _what_runs_where(self) -> str:
        if self._views is not None:
            lines = self._views.describe()
        else:
            lines = [f"in its threads, in Python: the transform, with each sample: {self._views_reason}"] if self._views_reason else []
        if self._unseeded:
            lines.append(f"not the same in every run: {self._unseeded}, by random numbers of torch, which threads share")
        if self.num_threads == 0:
            lines = [line.replace("in its threads", "in the calling thread", 1) for line in lines]
        return "".join(f"\n  {line}" for line in lines)


def _made_again(kind: Any, given: Dict[str, Any], epoch: int, begin: int) -> Loader:
    loader: Loader = kind(**given)
    loader._place = loader._next = _Place(epoch, begin)
    return loader


class _Iteration:
    """One iteration of a loader."""

    def __init__(self, loader: Loader, place: _Place, ahead: LoadedAhead) -> None:
        self._loader, self._place, self._ahead = loader, place, ahead
        self._leases: List[weakref.finalize] = []

    def __iter__(self) -> _Iteration:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        if self._loader.reuse_buffers:
            for lease in self._leases:
                lease()
        try:
            batch, self._leases, self._place.seen, is_last = next(self._ahead)
        except StopIteration:
            self._loader._finished(self._place)
            raise
        self._loader._place = self._place
        if is_last:  # who counts batches, as Lightning does, never comes back for the end
            self._loader._next_follows(self._place)
        return batch


def _tuple_of(sample: Any, names: Sequence[str]) -> Any:
    if sample is None:
        return None
    if not isinstance(sample, dict):
        raise UsageError(f"as_tuple names fields of dictionaries, but a sample is {type(sample).__name__}")
    for name in names:
        if name not in sample:
            raise UsageError(f"as_tuple names {name!r}, which a sample does not have; it has {', '.join(map(str, sample))}")
    return tuple([sample[name] for name in names])


def _pins(wanted: bool) -> bool:
    import torch

    if wanted and not torch.cuda.is_available():
        log.warning("pin_memory does nothing: there is no CUDA device")
        return False
    return wanted
