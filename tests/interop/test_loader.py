"""shale.torch.Loader: batches, orders, ranks, and a place that is kept exactly."""

import collections
import copy
import itertools
import json
import logging
import pickle

import numpy as np
import pytest
import shale
import torch
from conftest import run_shale
from documented_code import blocks_of, bytes_left_by
from loader_sets import packed
from shale._sample_sources import SampleSources
from shale.torch import Loader

ROWS = 203


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """ROWS samples of 100 to 1000 bytes in 4 shards; the label is the row."""
    return packed(run_shale, tmp_path_factory.mktemp("small"), ROWS, 4)


def labels(loader):
    return [row for batch in loader for row in batch["label"].tolist()]


def ranks_of(count, *arguments, **words):
    return [Loader(*arguments, rank=rank, num_replicas=count, **words) for rank in range(count)]


BLOCKS = {"shuffle": "block", "shuffle_block": "4KiB", "shuffle_buffer": "24KiB"}  # runs of 7 samples, 11 of them open
ORDERS = [{"shuffle": False}, {"shuffle": True}, BLOCKS]


# ---- batches


@pytest.mark.parametrize("threads", [0, 1, 3])
def test_a_batch_is_a_dictionary_of_tensors_and_lists(small, threads):
    loader = Loader(small, 16, num_threads=threads)
    batches = list(loader)
    assert len(batches) == len(loader) == 13 and len(batches[-1]["label"]) == ROWS % 16
    with shale.Dataset(small) as dataset:
        assert [key for batch in batches for key in batch["key"]] == dataset.column("key").tolist()
        assert [image for batch in batches for image in batch["image"]] == [sample["image"] for sample in dataset]
    assert labels(loader) == list(range(ROWS)) and batches[0]["label"].dtype == torch.int64


def test_values_of_one_size_are_stacked_others_are_lists(dataset):
    def shapes(sample):
        row = sample["label"]
        return {
            "image": sample["image"], "same": torch.full((40, 1000), row), "half": torch.full((3,), row, dtype=torch.bfloat16), "array": np.full((2, 2), row, "f4"),
            "real": row / 2, "yes": row > 0, "scalar": np.int32(row), "uneven": np.zeros(row + 1), "none": None, "text": "a",
        }

    batch = next(iter(Loader(shale.Dataset(dataset, decode="torchrgb8"), 60, transform=shapes)))
    assert isinstance(batch["image"], list) and batch["image"][0].dtype == torch.uint8
    kinds = {name: (tuple(value.shape[1:]), value.dtype) for name, value in batch.items() if isinstance(value, torch.Tensor)}
    assert kinds == {
        "same": ((40, 1000), torch.int64), "half": ((3,), torch.bfloat16), "array": ((2, 2), torch.float32),
        "real": ((), torch.float64), "yes": ((), torch.bool), "scalar": ((), torch.int32),
    }
    assert [type(batch[name]) for name in ("uneven", "none", "text")] == [list] * 3
    assert batch["same"][:, 7, 5].tolist() == (batch["real"] * 2).tolist()


def test_tuples_and_a_collate_function(small):
    image, label = next(iter(Loader(small, 5, as_tuple=("image", "label"))))
    assert label.tolist() == [0, 1, 2, 3, 4] and isinstance(image[0], bytes)
    key, label = next(iter(Loader(shale.Dataset(small, as_tuple=("key", "label")), 5)))
    assert key[0] != key[1] and label.tolist() == [0, 1, 2, 3, 4]
    assert next(iter(Loader(small, 5, collate_fn=len))) == 5
    with pytest.raises(shale.UsageError, match="as_tuple names 'mask', which a sample does not have; it has key, image, label"):
        next(iter(Loader(small, 5, as_tuple=("mask",))))


def test_any_dataset_with_a_length_will_do():
    numbers = torch.utils.data.TensorDataset(torch.arange(10))
    assert [batch[0].tolist() for batch in Loader(numbers, 4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert [batch.tolist() for batch in Loader([[1, 2], [3]], 2)] == [[1, 2], [3]]


# ---- orders


def test_the_order_is_that_of_the_epoch_for_any_threads_batches_and_ranks(small):
    expected = shale.EpochOrder(ROWS, 6, 1)[:].tolist()
    for threads, batch in ((0, 7), (2, 16), (4, 1), (2, 500)):
        loader = Loader(small, batch, shuffle=True, seed=6, num_threads=threads)
        loader.set_epoch(1)
        assert labels(loader) == expected
    ranks = ranks_of(3, small, 10, shuffle=True, seed=6, even_batches=False)
    for loader in ranks:
        loader.set_epoch(1)
    steps = itertools.zip_longest(*ranks, fillvalue={"label": torch.empty(0)})
    assert [row for step in steps for batch in step for row in batch["label"].tolist()] == expected


@pytest.mark.parametrize("threads", [0, 1, 4])
def test_block_reads_runs_and_gives_each_sample_once(small, threads):
    loader = Loader(small, 16, num_threads=threads, seed=2, **BLOCKS)
    order = shale.EpochOrder(ROWS, 2, 0, "block", block=loader.block, lanes=loader.lanes)
    assert (loader.block, loader.lanes) == (7, 11)
    assert labels(loader) == order[:].tolist() and labels(loader) != order[:].tolist()
    for ranks in (2, 3, 8):
        steps = zip(*ranks_of(ranks, small, 16 // ranks, seed=2, num_threads=threads, even_batches=False, **BLOCKS))
        seen = [row for step in steps for batch in step for row in batch["label"].tolist()]
        assert len(set(seen)) == len(seen) >= ROWS - 16


# Of a sorted dataset, in samples of 110 KB: 33 labels in a batch of 64, where a uniform order has 47, are what runs of 1 MiB gave with 16 MiB.
@pytest.mark.parametrize(("buffer", "least"), [("1MiB", 0.85), ("4MiB", 0.85), ("16MiB", 0.85), ("64MiB", 0.97), ("256MiB", 0.97), ("1GiB", 0.97)])
@pytest.mark.parametrize("batch", [64, 256])
def test_runs_follow_the_buffer_so_that_block_mixes_as_well_as_random(small, monkeypatch, caplog, buffer, least, batch):
    monkeypatch.setattr(SampleSources, "bytes_per_sample", lambda self: 110_000.0)
    loader = Loader(small, batch, shuffle="block", shuffle_buffer=buffer)
    order = shale.EpochOrder(20_000, 3, 0, "block", block=loader.block, lanes=loader.lanes)
    for labels_in_it in (100, 1000):
        score = shale.shuffle_score(order, np.arange(20_000) * labels_in_it // 20_000, batch)
        assert score.whole >= least * score.expected
        assert score.first >= 0.9 * least * score.expected  # of few batches
    assert not caplog.messages


def test_fewer_open_runs_than_a_step_takes_are_named(small, caplog):
    Loader(small, 16, **BLOCKS)
    (message,) = caplog.messages
    assert message.startswith("a step takes 16 samples, more than seven eighths of the open runs (11): of a dataset that is sorted by label") and "shuffle_buffer='1MiB'" in message
    caplog.clear()
    Loader(small, 16, **{**BLOCKS, "shuffle_buffer": "1MiB"})
    Loader(small, 9, **BLOCKS)
    Loader(small, ROWS, **BLOCKS)  # all of them in a batch
    assert not caplog.messages
    Loader(small, 8, rank=0, num_replicas=2, **BLOCKS)
    assert "a step takes 16 samples, more" in caplog.text


def test_a_state_of_an_older_size_of_runs_is_continued_with_that_size(small):
    buffer = {"shuffle": "block", "shuffle_buffer": "24KiB", "even_batches": False}
    before = Loader(small, 10, shuffle_block="1MiB", **buffer)  # what was once taken where no size was given
    seen = [row for batch in itertools.islice(before, 5) for row in batch["label"].tolist()]
    state = json.loads(json.dumps(before.state_dict()))
    whole = labels(Loader(small, 10, shuffle_block="1MiB", **buffer))
    after = Loader(small, 10, **buffer)
    fresh = after.block
    begun = iter(after)
    first = next(begun)["label"].tolist()
    after.load_state_dict(state)
    assert after.block == before.block != fresh and after.lanes == before.lanes
    assert sorted(first + [row for batch in begun for row in batch["label"].tolist()]) == list(range(ROWS))  # in the order that it began with
    assert after.state_dict() == state
    copied = pickle.loads(pickle.dumps(after))
    assert [seen + labels(loader) for loader in (after, copied)] == [whole, whole]
    after.set_epoch(1)
    before.set_epoch(1)
    assert labels(after) == labels(before)
    with pytest.raises(shale.MismatchError, match="shuffle_block 1048576, the loader has 5000"):
        Loader(small, 10, shuffle_block=5000, **buffer).load_state_dict(state)
    for wrong in (0, -1, 1.5, "1MiB", None):
        with pytest.raises(shale.UsageError, match="shuffle_block of the state"):
            Loader(small, 10, **buffer).load_state_dict({**state, "shuffle_block": wrong})
    refused = Loader(small, 10, seed=1, **buffer)
    with pytest.raises(shale.MismatchError, match="seed 0, the loader has 1"):
        refused.load_state_dict(state)
    assert refused.block == fresh


def test_ranks_of_block_read_few_runs_of_others(small, monkeypatch):
    read = []
    first, second = ranks_of(2, small, 4, num_threads=0, even_batches=False, **BLOCKS)
    raw = first._sources.read_raw
    monkeypatch.setattr(first._sources, "read_raw", lambda numbers: read.extend(numbers) or raw(numbers))
    assert len(labels(first)) + len(labels(second)) == ROWS
    assert len(set(read)) == len(read) < 0.75 * ROWS


def test_a_resumed_block_epoch_reads_only_what_is_left(small, monkeypatch):
    loader = Loader(small, 16, num_threads=0, **BLOCKS)
    seen = [row for batch in itertools.islice(loader, 6) for row in batch["label"].tolist()]
    resumed, read = Loader(small, 16, num_threads=0, **BLOCKS), []
    resumed.load_state_dict(loader.state_dict())
    raw = resumed._sources.read_raw
    monkeypatch.setattr(resumed._sources, "read_raw", lambda numbers: read.extend(numbers) or raw(numbers))
    assert sorted(labels(resumed)) == sorted(read) == sorted(set(range(ROWS)) - set(seen))


def test_block_decodes_when_samples_are_drawn(dataset):
    for way in ("rgb8", "torchrgb8", "pil", None):
        decoded = shale.Dataset(dataset, decode=way)
        by_key = {sample["key"]: sample["image"] for sample in decoded}
        for batch in Loader(decoded, 7, shuffle="block"):
            for key, image in zip(batch["key"], batch["image"]):
                assert np.array_equal(np.asarray(image), np.asarray(by_key[key]))


def test_indices_weights_and_proportions(small):
    chosen = [5, 3, -1, 5]
    assert labels(Loader(small, 3, indices=chosen)) == [5, 3, ROWS - 1, 5]
    assert sorted(labels(Loader(small, 3, indices=chosen, shuffle=True))) == [3, 5, 5, ROWS - 1]
    weights = np.zeros(ROWS)
    weights[[10, 20]] = 1, 3
    drawn = [labels(Loader(small, 7, weights=weights, seed=1, num_threads=threads)) for threads in (0, 3)]
    assert drawn[0] == drawn[1] and len(drawn[0]) == ROWS and 100 < drawn[0].count(20) < 190 and set(drawn[0]) == {10, 20}
    first, second = [shale.Dataset(small, indices=range(*rows)) for rows in ((0, 100), (100, 110))]
    both = Loader([first, second], 4, shuffle=True, proportions=[3, 1])
    for batch in itertools.islice(both, 25):
        assert sum(row < 100 for row in batch["label"].tolist()) == 3
    rows = labels(both)  # of epoch 1: 27 groups, after the 81 samples that epoch 0 took of the first
    assert len(rows) == 108 and len(set(rows)) > 80 and max(rows.count(row) for row in range(100, 110)) <= 3
    assert sorted(labels(Loader([first, second], 4, shuffle=True))) == list(range(110))


@pytest.mark.parametrize("shuffle", [False, True])
def test_in_proportion_every_sample_comes_equally_often_over_the_epochs(small, shuffle):
    first, second = [shale.Dataset(small, indices=range(*rows)) for rows in ((0, 100), (100, 107))]
    both = Loader([first, second], 4, shuffle=shuffle, proportions=[2, 1], num_threads=0)
    found = collections.Counter(label for _ in range(7) for label in labels(both))  # 35 groups each
    assert {found[row] for row in range(100)} == {4, 5} and {found[row] for row in range(100, 107)} == {35}


@pytest.mark.parametrize("copied", [lambda loader: pickle.loads(pickle.dumps(loader)), copy.deepcopy])
@pytest.mark.parametrize("shuffle", [True, "block"])
def test_a_copy_begins_where_the_next_iteration_does(small, copied, shuffle):
    loader = Loader(small, 4, shuffle=shuffle, seed=2)
    batches = iter(loader)
    next(batches)
    rest = list(batches)
    state = Loader(small, 4, shuffle=shuffle, seed=2)
    state.load_state_dict({**loader.state_dict(), "epoch": 1, "samples_seen": 40})
    other = copied(state)
    assert rest and labels(other) == labels(state)


def test_a_state_of_another_order_is_refused_by_the_order(small):
    state = Loader(small, 4, shuffle=True).state_dict()
    with pytest.raises(shale.MismatchError, match="shuffle 'random', the loader has 'block'"):
        Loader(small, 4, **BLOCKS).load_state_dict(state)


def test_weights_whose_sum_is_no_number(small):
    first, second = [labels(Loader(small, 4, weights=[weight] * ROWS)) for weight in (1e308, 1.0)]
    assert len(set(first)) > ROWS // 2 and len(set(second)) > ROWS // 2


def test_a_state_between_two_epochs_is_of_the_next(small):
    loader = Loader(small, 50, shuffle=True)
    loader.set_epoch(5)
    resumed = Loader(small, 50, shuffle=True)
    resumed.load_state_dict(loader.state_dict())
    assert resumed.epoch == 5
    batches = iter(loader)
    next(batches)
    assert loader.state_dict()["samples_seen"] == 50
    loader.set_epoch(6)
    state = loader.state_dict()
    assert (state["epoch"], state["samples_seen"]) == (6, 0)
    next(batches)  # of epoch 5, which goes on
    assert (loader.state_dict()["epoch"], loader.state_dict()["samples_seen"], loader.epoch) == (5, 100, 6)
    loader.set_epoch(6)
    assert len(list(loader)) == len(loader) and loader.epoch == 7


def test_a_state_of_another_file_is_refused(tmp_path):
    arrays = np.arange(1000), np.arange(1000)[::-1].copy(), np.zeros((1000, 3)), np.arange(1000)
    for number, array in enumerate(arrays):
        np.save(tmp_path / f"{number}.npy", array)
    state = Loader(tmp_path / "0.npy", 10, shuffle=True).state_dict()
    for number in (1, 2):
        with pytest.raises(shale.MismatchError, match="the state is of dataset"):
            Loader(tmp_path / f"{number}.npy", 10, shuffle=True).load_state_dict(state)
    Loader(tmp_path / "3.npy", 10, shuffle=True).load_state_dict(state)  # a copy, on another disk


def test_the_type_of_a_column_does_not_depend_on_the_values(small):
    def made(value):
        return Loader(small, 4, transform=lambda sample: {"x": value(sample["label"])}, num_threads=0)

    images = np.arange(24.0).reshape(2, 3, 4)
    flipped = [batch["x"] for batch in made(lambda label: images[:, :, ::-1] if label % 3 == 0 else images)]
    assert flipped[0].shape == (4, 2, 3, 4) and flipped[0][0].tolist() == images[:, :, ::-1].tolist()
    assert all(isinstance(each, torch.Tensor) for each in flipped)
    mixed = [batch["x"].dtype for batch in made(lambda label: 1.5 if label % 4 == 0 else 1)]
    assert set(mixed[:-1]) == {torch.float64}
    with pytest.raises(shale.UsageError, match="9223372036854775808 does not fit"):
        list(made(lambda label: 2**63 if label == 7 else label))


def test_lengths_are_exact_for_any_samples_and_ranks(small):
    for samples, ranks, batch in itertools.product((0, 1, 2, 3, 7, 8, 9, 24, 25), (1, 2, 3, 8), (1, 4)):
        some = shale.Dataset(small, indices=range(samples), fields=["label"])
        for words in ({}, {"shuffle": True}, {"drop_last": True}, {"shuffle": "block", "even_batches": False}):
            loaders = ranks_of(ranks, some, batch, num_threads=0, **words)
            found = [[len(each["label"]) for each in loader] for loader in loaders]
            assert [len(each) for each in found] == [len(loader) for loader in loaders]
            if words == {"shuffle": True}:  # padded: equal in number and in size
                assert all(each == found[0] for each in found) and sum(map(sum, found)) == -(-samples // ranks) * ranks
            elif not words.get("drop_last"):
                assert sum(map(sum, found)) == samples
            else:
                assert all(each == [batch] * (samples // (batch * ranks)) for each in found)


# ---- the place


@pytest.mark.parametrize("order", ORDERS, ids=str)
@pytest.mark.parametrize("stop", [0, 1, 4, 6, 7])
def test_every_sample_once_over_a_stop_with_other_ranks_threads_and_batches(small, order, stop):
    words = {"seed": 3, "even_batches": False, **order}
    loaders = ranks_of(8, small, 4, num_threads=2, **words)
    for loader in loaders:
        loader.set_epoch(2)
    seen, states = [], []
    for loader in loaders:
        batches = iter(loader)
        states.append(loader.state_dict())
        for batch in itertools.islice(batches, stop):  # others are loaded ahead
            seen += batch["label"].tolist()
            states[-1] = loader.state_dict()
    steps = [state for loader, state in zip(loaders, states) if len(loader) >= stop]
    assert all(state == steps[0] for state in steps) and len(json.dumps(steps[0])) < 1024
    for ranks, batch in ((3, 5), (1, 64)):
        rest = []
        for loader in ranks_of(ranks, small, batch, num_threads=3, **words):
            loader.load_state_dict(json.loads(json.dumps(steps[0])))
            assert loader.state_dict() == steps[0]
            loader.set_epoch(2)
            rest += labels(loader)
            assert loader.epoch == 3
        assert sorted(seen + rest) == list(range(ROWS))


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_a_run_that_is_stopped_after_every_batch_is_the_run_that_is_not(small, order):
    whole = Loader(small, 30, seed=1, **order)
    expected = [batch["label"].tolist() for _ in range(3) for batch in whole]
    found, state = [], whole.state_dict()
    state = {**state, "epoch": 0, "samples_seen": 0}
    while state["epoch"] < 3:
        loader = Loader(small, 30, seed=1, **order)
        loader.load_state_dict(state)
        batches = iter(loader)
        for batch in itertools.islice(batches, 1):
            found.append(batch["label"].tolist())
        if loader.state_dict() == state:  # the end of an epoch: the next begins
            assert next(batches, None) is None
        state = loader.state_dict()
    assert found == expected


def test_a_state_counts_batches_that_were_yielded(small):
    loader = Loader(small, 10, num_threads=3)
    batches = iter(loader)
    assert loader.state_dict()["samples_seen"] == 0
    next(batches)
    assert loader.state_dict()["samples_seen"] == 10
    assert len(list(batches)) == 20 and (loader.state_dict()["epoch"], loader.state_dict()["samples_seen"]) == (1, 0)


@pytest.mark.parametrize("words", [{}, {"drop_last": True}, {"rank": 1, "num_replicas": 2, "even_batches": False}], ids=str)
def test_the_next_epoch_follows_though_nobody_asks_for_the_end(small, words):
    counted, whole = [Loader(small, 202, shuffle=True, **words) for _ in range(2)]
    for epoch in range(3):
        batches = iter(counted)
        found = [next(batches)["label"].tolist() for _ in range(len(counted))]
        assert counted.state_dict()["epoch"] == epoch and counted.epoch == epoch + 1
        assert found == [batch["label"].tolist() for batch in whole]


def test_resuming_far_in_a_large_epoch_is_quick():
    class Many:
        def __len__(self):
            return 10**9

        def __getitem__(self, row):
            return row

    loader = Loader(Many(), 4, shuffle=True, num_threads=0)
    loader.load_state_dict({**loader.state_dict(), "samples_seen": 10**9 - 10})
    assert [len(batch) for batch in loader] == [4, 4, 2]


def test_states_that_do_not_fit_are_refused_by_name(small, tmp_path):
    state = Loader(small, 4, **BLOCKS).state_dict()
    for words, text in [
        ({**BLOCKS, "seed": 1}, "seed 0, the loader has 1"),
        ({"shuffle": True}, "shuffle 'block', the loader has 'random'"),
        ({}, "shuffle 'block', the loader has False"),
        ({**BLOCKS, "shuffle_buffer": "1MiB"}, "shuffle_buffer 24576, the loader has 1048576"),
        ({**BLOCKS, "shuffle_block": 5000}, "shuffle_block 4096, the loader has 5000"),
    ]:
        with pytest.raises(shale.MismatchError, match=text):
            Loader(small, 4, **words).load_state_dict(state)
    with pytest.raises(shale.MismatchError, match="samples 203, the loader has 202; the dataset is another one, or was appended to"):
        Loader(shale.Dataset(small, indices=range(202)), 4, **BLOCKS).load_state_dict(state)
    with pytest.raises(shale.MismatchError, match="dataset"):
        Loader(shale.Dataset(small, indices=range(ROWS)[::-1]), 4, **BLOCKS).load_state_dict(state)
    with pytest.raises(shale.MismatchError, match="dataset"):
        Loader(packed(run_shale, tmp_path, ROWS, 3), 4, **BLOCKS).load_state_dict(state)
    for name in state:
        with pytest.raises(shale.UsageError, match=f"no '{name}'.*truncated"):
            Loader(small, 4, **BLOCKS).load_state_dict({key: value for key, value in state.items() if key != name})


def test_a_loaded_place_that_another_epoch_gives_up_is_logged(small, caplog):
    loader = Loader(small, 10)
    loader.load_state_dict({**loader.state_dict(), "epoch": 3, "samples_seen": 50})
    loader.set_epoch(0)
    assert caplog.messages == ["set_epoch(0) gives up the place at sample 50 of epoch 3, which was loaded"]
    assert labels(loader) == list(range(ROWS))


# ---- seeds, notes, refusals


def test_seeds_are_those_of_sample_and_epoch_for_any_threads(small):
    def seeded(sample, seed):
        return sample["label"], str(seed)

    for threads, batch in ((0, 7), (3, 20)):
        loader = Loader(small, batch, shuffle=True, seed=5, transform=seeded, num_threads=threads)
        loader.set_epoch(4)
        found = {row: seed for rows, seeds in loader for row, seed in zip(rows.tolist(), seeds)}
        assert found == {row: str(seed) for row, seed in enumerate(shale.sample_seeds(5, 4, np.arange(ROWS)).tolist())}
    repeated = Loader(small, 1, weights=np.eye(1, ROWS)[0], transform=lambda sample, seed: str(seed))
    assert len({seed for batch in repeated for seed in batch}) == ROWS  # the same sample, other seeds


def test_notes_are_logged(small, monkeypatch, caplog):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with caplog.at_level(logging.WARNING, "shale"):
        loader = Loader(small, 4, pin_memory=True)
    assert (loader.rank, loader.num_replicas) == (1, 2)
    assert caplog.messages == [
        "rank 1 of 2, from RANK and WORLD_SIZE: torch.distributed is not initialized",
        "pin_memory does nothing: there is no CUDA device",
    ]


def test_what_a_loader_refuses(small, tmp_path):
    for words, text in [
        ({"batch_size": 0}, "batch_size is 0"),
        ({"shuffle": "blocks"}, "shuffle is 'blocks'"),
        ({"num_threads": -1}, "num_threads is -1"),
        ({"on_error": "ignore"}, "on_error is 'ignore'"),
        ({"transform": 3}, "transform is 3, expected a function"),
        ({"rank": 3, "num_replicas": 2}, "rank is 3 of 2"),
        ({"process_group": 1}, "torch.distributed is not initialized"),
        ({"indices": [1], "weights": [1]}, "indices and weights do not go together"),
        ({"indices": [1], "shuffle": "block"}, "indices does not go with shuffle='block'"),
        ({"weights": [1]}, "weights have shape"),
        ({"weights": ["a"] * ROWS}, "weights cannot be made an array"),
        ({"weights": torch.ones(ROWS, dtype=torch.bfloat16)}, "weights cannot be made an array"),
        ({"weights": torch.ones(ROWS, requires_grad=True)}, "weights cannot be made an array"),
        ({"weights": [-1] * ROWS}, "weights must be finite"),
        ({"proportions": [1, 2]}, "expected 1 numbers above 0"),
        ({"shuffle_buffer": "many", "shuffle": "block"}, "shuffle_buffer: 'many' is not a size"),
        ({"shuffle_buffer": 0}, "shuffle_buffer is 0, expected at least one byte"),
    ]:
        with pytest.raises(shale.UsageError, match=text):
            Loader(small, **{"batch_size": 4, **words})
    with pytest.raises(IndexError, match="indices name sample 203 of 203"):
        Loader(small, 4, indices=[203])
    with pytest.raises(shale.UsageError, match="not through Subset"):
        Loader(torch.utils.data.Subset(shale.Dataset(small), [1]), 4, shuffle="block")
    with pytest.raises(shale.NotFoundError):
        Loader(tmp_path / "none", 4)
    with pytest.raises(shale.UnsupportedError, match="neither a path nor a dataset"):
        Loader(7, 4)
    with pytest.raises(shale.UsageError, match="no dataset"):
        Loader([], 4)


@pytest.mark.parametrize("block", blocks_of(["docs/loading.md"], "loader"))
def test_the_documented_loop_runs(block, dataset, tmp_path):
    bytes_left_by(block, dataset, tmp_path)
