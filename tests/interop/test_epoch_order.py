"""shale.EpochOrder, sample_seeds and shuffle_score; the program in docs/shuffle.md gives the numbers in its tables."""

import random

import numpy as np
import pytest
import shale
from test_sampling_doc import names_left_by, table


@pytest.fixture(scope="module")
def program():
    return names_left_by("docs/shuffle.md", "epoch")


def test_the_documented_program_gives_the_block_orders(program):
    permutation = names_left_by("docs/shuffle.md", "shuffle")["permutation"]
    for row in table("docs/shuffle.md", "| n | block | lanes | seed | epoch | position | row | lane | first | count |"):
        n, block, lanes, seed, epoch, position, *drawn = map(int, row)
        order = program["block_order"](n, block, lanes, program["epoch_key"](seed, epoch), permutation)
        assert list(order(position)) == drawn
        mine = shale.EpochOrder(n, seed, epoch, "block", block=block, lanes=lanes)
        assert mine.runs(position, 1).tolist() == [drawn]


def test_the_documented_program_gives_the_keys_and_seeds(program):
    for row in table("docs/shuffle.md", "| seed | epoch | sample | key of the epoch | seed of the sample |"):
        seed, epoch, sample, key, sample_seed = map(int, row)
        assert program["epoch_key"](seed, epoch) == key
        assert program["sample_seed"](seed, epoch, sample) == sample_seed == int(shale.sample_seeds(seed, epoch, sample))


@pytest.mark.parametrize("shuffle", [False, "random", "block"])
def test_every_row_once_and_any_part_alone(shuffle):
    dice = random.Random(3)
    for n in (1, 2, 7, 100, 1003):
        blocks = {"block": dice.randint(1, 20), "lanes": dice.randint(1, 50)} if shuffle == "block" else {}
        order = shale.EpochOrder(n, seed=5, epoch=n, shuffle=shuffle, **blocks)
        whole = order[:].tolist()
        assert sorted(whole) == list(range(n)) and len(order) == n
        for _ in range(30):
            part = slice(dice.randint(-n, n), dice.randint(-n, n), dice.choice([1, 2, 5, -1, -3]))
            assert order[part].tolist() == whole[part], part
        assert [order[-1], order[0]] == [whole[-1], whole[0]]


def test_epochs_and_seeds_are_other_orders():
    orders = [shale.EpochOrder(1000, seed, epoch)[:] for seed, epoch in ((0, 0), (0, 1), (1, 0))]
    assert all((a == b).sum() < 20 for a in orders for b in orders if a is not b)


def test_what_an_order_refuses():
    for words, text in [
        ({"samples": 0}, "samples is 0"),
        ({"samples": 5, "shuffle": "blocks"}, "shuffle is 'blocks', expected"),
        ({"samples": 5, "shuffle": 1}, "shuffle is 1, expected"),
        ({"samples": 5, "shuffle": "block"}, "'block' takes both"),
        ({"samples": 5, "block": 3, "lanes": 2}, "'block' takes both"),
        ({"samples": 5, "seed": -1}, "seed is -1"),
        ({"samples": 2**63}, "samples is"),
    ]:
        with pytest.raises(shale.UsageError, match=text):
            shale.EpochOrder(**words)
    order = shale.EpochOrder(5)
    with pytest.raises(IndexError):
        order[5]
    with pytest.raises(shale.UsageError, match="6 positions from 0 on"):
        order.rows(0, 6)
    with pytest.raises(shale.UsageError, match="only 'block' has runs"):
        order.runs(0, 1)


def test_seeds_are_one_for_each_sample_and_epoch():
    seeds = np.concatenate([shale.sample_seeds(7, epoch, np.arange(100_000)) for epoch in range(3)])
    assert len(np.unique(seeds)) == len(seeds) and seeds.dtype == np.uint64
    assert (shale.sample_seeds(7, 0, [[3], [4]]) == seeds[[[3], [4]]]).all()


def test_the_score_of_sorted_buffered_and_shuffled_orders():
    labels = np.repeat(np.arange(1000), 55)
    uniform = shale.shuffle_score(shale.EpochOrder(len(labels), 1), labels)
    assert 0.95 < uniform.score <= 1.05 and 225 < uniform.expected < 227
    blocks = shale.shuffle_score(shale.EpochOrder(len(labels), 1, 0, "block", block=16, lanes=304), labels)
    assert blocks.score > 0.95, blocks
    in_order = shale.shuffle_score(np.arange(len(labels)), labels)
    assert in_order.score < 0.03
    # Only its end is bad: the score says so, the mean does not.
    order = shale.EpochOrder(len(labels), 1)[:]
    order[-600:] = order[-1]
    spoilt = shale.shuffle_score(order, labels)
    assert spoilt.whole > 200 and spoilt.last < 120 and spoilt.score < 0.6


def test_the_expected_number_of_labels_is_that_of_many_draws():
    labels = np.array([0] * 50 + [1] * 3 + [2] * 10 + [3])
    dice = np.random.default_rng(1)
    drawn = [len(set(labels[dice.choice(64, 8, replace=False)])) for _ in range(20_000)]
    assert shale.shuffle_score(np.arange(64), labels, 8).expected == pytest.approx(np.mean(drawn), rel=0.01)


def test_what_the_score_refuses():
    for order, text in [([], "at least one"), ([0.5], "at least one"), ([3], "rows 3 to 3, but there are 3"), ([-1], "rows -1")]:
        with pytest.raises(shale.UsageError, match=text):
            shale.shuffle_score(order, [1, 2, 3])
