"""shale.torch.Loader beside a model of it in plain Python: every batch of every rank, over stops, other ranks and three epochs."""

import itertools
import json
import random

import pytest
from conftest import run_shale
from loader_sets import packed
from shale.torch import Loader
from test_sampling_doc import names_left_by

ROWS, SEED, EPOCHS = 203, 9, 3
ORDERS = [{"shuffle": False}, {"shuffle": "random"}, {"shuffle": "block", "shuffle_block": "4KiB", "shuffle_buffer": "24KiB"}]
MANY, FEW, ONE = {"ranks": 8, "batch": 4, "threads": 2}, {"ranks": 3, "batch": 5, "threads": 3}, {"ranks": 1, "batch": 64, "threads": 0}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return packed(run_shale, tmp_path_factory.mktemp("small"), ROWS, 4)


class Model:
    """What loaders of all ranks must give. The orders are those of the programs in docs/shuffle.md."""

    def __init__(self, loader):
        epoch, shuffle = names_left_by("docs/shuffle.md", "epoch"), names_left_by("docs/shuffle.md", "shuffle")
        self.drawn = []  # of each epoch: (sample, lane) at each position
        for number in range(EPOCHS + 1):
            key = epoch["epoch_key"](SEED, number)
            if loader.shuffle == "block":
                at = epoch["block_order"](ROWS, loader.block, loader.lanes, key, shuffle["permutation"])
                self.drawn.append([at(position)[:2] for position in range(ROWS)])
            else:
                at = shuffle["permutation"](ROWS, key) if loader.shuffle == "random" else int
                self.drawn.append([(at(position), 0) for position in range(ROWS)])

    def steps(self, epoch, begin, ranks, batch, even):
        """(samples of each rank, samples seen after it) of each step from there on."""
        drawn = self.drawn[epoch]
        for at in range(begin, ROWS, ranks * batch):
            positions = range(at, min(ROWS, at + ranks * batch))
            dealt = sorted(positions, key=lambda position: drawn[position][1])
            padding = list(range(-len(dealt) % ranks)) if even else []
            share, more = divmod(len(dealt) + len(padding), ranks)
            left, parts = iter([(False, position) for position in dealt] + [(True, position) for position in padding]), []
            for rank in range(ranks):
                mine = sorted(itertools.islice(left, share + (rank < more)))
                parts.append([drawn[position % ROWS][0] for _, position in mine])
            yield parts, positions[-1] + 1


def run(model, path, order, state, setting, even, most=None):
    """At most so many steps of the epoch by loaders of all ranks, each compared with the model. Returns the state and what was seen."""
    ranks, batch = setting["ranks"], setting["batch"]
    words = {"seed": SEED, "num_threads": setting["threads"], "even_batches": even, "num_replicas": ranks, **order}
    loaders = [Loader(path, batch, rank=rank, **words) for rank in range(ranks)]
    for loader in loaders:
        loader.load_state_dict(json.loads(json.dumps(state)))
    iterations, seen = [iter(loader) for loader in loaders], []
    expected = model.steps(state["epoch"], state["samples_seen"], ranks, batch, even)
    for parts, position in itertools.islice(expected, most):
        found = [next(iteration)["label"].tolist() if part else [] for part, iteration in zip(parts, iterations)]
        assert found == parts
        states = [loader.state_dict() for loader, part in zip(loaders, parts) if part]
        state = {**state, "samples_seen": position}
        assert all(each == state for each in states)
        seen += itertools.chain.from_iterable(found)
    if state["samples_seen"] == ROWS:
        assert all(next(iteration, None) is None for iteration in iterations)
        state = {**state, "epoch": state["epoch"] + 1, "samples_seen": 0}
        assert all(loader.state_dict() == state for loader in loaders)
    return state, seen


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: str(order["shuffle"]))
@pytest.mark.parametrize("stop", ["first", "middle", "before the last", "last"])
def test_three_epochs_from_eight_ranks_to_three_and_one_are_those_of_the_model(small, order, stop):
    first = Loader(small, 4, seed=SEED, **order)
    model, state = Model(first), first.state_dict()
    for epoch in range(EPOCHS):
        seen = []
        for setting in (MANY, FEW, ONE):
            steps = -(-(ROWS - state["samples_seen"]) // (setting["ranks"] * setting["batch"]))
            most = {"first": 1, "middle": steps // 2, "before the last": steps - 1, "last": steps}[stop]
            state, found = run(model, small, order, state, setting, False, most)
            seen += found
            if state["epoch"] > epoch:
                break
        if state["epoch"] == epoch:
            state, found = run(model, small, order, state, {**FEW, "batch": 7}, False)
            seen += found
        assert sorted(seen) == list(range(ROWS)) and (state["epoch"], state["samples_seen"]) == (epoch + 1, 0)


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: str(order["shuffle"]))
def test_any_stops_and_settings_are_those_of_the_model(small, order):
    dice = random.Random(4)
    first = Loader(small, 4, seed=SEED, **order)
    model, state = Model(first), first.state_dict()
    seen = []
    while state["epoch"] < EPOCHS:
        setting = {"ranks": dice.randint(1, 9), "batch": dice.randint(1, 12), "threads": dice.randint(0, 3)}
        even, epoch = dice.random() < 0.3, state["epoch"]
        state, found = run(model, small, order, state, setting, even, dice.randint(1, 5))
        seen += found
        if state["epoch"] > epoch:
            assert set(seen) == set(range(ROWS))
            seen = []


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: str(order["shuffle"]))
def test_padding_is_that_of_the_model(small, order):
    first = Loader(small, 4, seed=SEED, **order)
    for ranks, batch in ((8, 4), (7, 3), (3, 64), (64, 4)):
        state, seen = run(Model(first), small, order, first.state_dict(), {"ranks": ranks, "batch": batch, "threads": 1}, True)
        assert set(seen) == set(range(ROWS)) and len(seen) == -(-ROWS // ranks) * ranks
