"""What shale.torch.Loader holds, counted: with "block" the samples that were read and not drawn, the batches ahead, and no copy twice."""

import threading
import weakref

import numpy as np
import pytest
import shale.loader
import torch
from conftest import run_shale
from loader_sets import packed
from shale import _batch_memory
from shale.torch import Loader

ROWS = 2003
BLOCKS = {"shuffle": "block", "shuffle_block": "4KiB", "shuffle_buffer": "128KiB", "even_batches": False}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    return packed(run_shale, tmp_path_factory.mktemp("small"), ROWS, 4)


class Counted:
    """How many there are of something."""

    def __init__(self):
        self.alive, self.bytes, self._lock = 0, 0, threading.RLock()

    def add(self, count, size=0):
        with self._lock:
            self.alive, self.bytes = self.alive + count, self.bytes + size


def counted_reads(loader):
    """Counts the samples that the loader read and somebody still holds."""
    counted, raw = Counted(), loader._sources.read_raw

    class Held(bytes):
        def __del__(self):
            counted.add(-1, -len(self))

    def read(numbers):
        samples = raw(numbers)
        for sample in samples:
            sample["image"] = Held(sample["image"])
            counted.add(1, len(sample["image"]))
        return samples

    loader._sources.read_raw = read
    return counted


def read_before(loader):
    """By position, how many samples were read when all before it were drawn."""
    runs = loader._draw.order(0).runs(0, ROWS)
    found, opened = [0], set()
    for _, _, first, count in runs.tolist():
        found.append(found[-1] + (0 if first in opened else count))
        opened.add(first)
    return found


@pytest.mark.parametrize("threads, factor", [(0, 1), (1, 1), (2, 1), (3, 2)])
def test_block_holds_open_runs_and_the_batches_ahead_and_no_more(small, threads, factor):
    loader = Loader(small, 32, num_threads=threads, prefetch_factor=factor, **BLOCKS)
    counted, read = counted_reads(loader), read_before(loader)
    batches = iter(loader)
    shared, ahead = batches._ahead._shared, threads * factor
    for step in range(len(loader)):
        batch = next(batches)
        due = min(len(loader) - step - 1, ahead)
        with shared.changed:  # until the threads have loaded all that they may
            assert shared.changed.wait_for(lambda: len(shared.done) >= due, 60) and len(shared.done) == due
        assert counted.alive == read[min(ROWS, (step + 1 + ahead) * 32)] - step * 32
        del batch
    assert next(batches, None) is None and counted.alive == counted.bytes == 0


@pytest.mark.parametrize("batch", [5, 32])
@pytest.mark.parametrize("begin", [0, 800])
def test_block_reads_little_more_than_it_draws_until_its_buffer_is_full(small, monkeypatch, batch, begin):
    monkeypatch.setattr(shale.loader, "SMALLEST_PIECE", 1)  # these samples are small: single ones would not be worth a read
    loader = Loader(small, batch, num_threads=0, **BLOCKS)
    loader._next = loader._place = type(loader._place)(0, begin)
    raw, read, held = loader._sources.read_raw, [], []
    loader._sources.read_raw = lambda numbers: read.extend(numbers) or raw(numbers)
    drawn = 0
    for samples in loader:
        drawn += len(samples["label"])
        assert len(read) <= 1.25 * drawn
        held.append(len(read) - drawn)
    expected = read_before(loader)
    assert held[0] < 0.3 * batch < expected[begin + batch] - begin - batch  # what whole runs would be
    lacks = [expected[begin + (step + 1) * batch] - begin - (step + 1) * batch - held[step] for step in range(len(held) - 1)]
    assert min(lacks) > -loader.block and lacks[len(lacks) // 8] > 50 and max(lacks[len(lacks) * 7 // 8 :]) < loader.block
    assert len(read) == len(set(read)) and 0 <= len(read) - (ROWS - begin) < loader.block


def test_open_runs_take_the_buffer_on_average(small):
    for buffer in (64 << 10, 128 << 10, 256 << 10):
        loader = Loader(small, 16, num_threads=0, **{**BLOCKS, "shuffle_buffer": buffer})
        counted, held = counted_reads(loader), []
        for batch in loader:
            del batch
            held.append(counted.bytes)
        middle = held[len(held) // 10 : len(held) * 3 // 4]  # at its end an epoch has less and less to come
        # Counted after a batch was drawn: of each run of 7 samples 3 are to come then, before it was 4.
        assert 0.65 * buffer < sum(middle) / len(middle) < 1.05 * buffer
        assert max(held) < 1.5 * buffer


def test_what_a_sample_was_read_as_is_dropped_when_it_is_drawn(small):
    drawn, found = [], []

    def transform(sample):
        drawn.append(sample["label"])
        found.append(counted.alive)
        return torch.zeros(3)

    loader = Loader(small, 32, num_threads=0, transform=transform, **BLOCKS)
    counted, read = counted_reads(loader), read_before(loader)
    assert sum(map(len, loader)) == ROWS
    assert found == [read[min(ROWS, at // 32 * 32 + 32)] - at for at in range(ROWS)]


@pytest.mark.parametrize("shape", [dict, tuple, None], ids=str)
@pytest.mark.parametrize("shuffle", [False, "block"])
def test_what_is_stacked_is_dropped_part_by_part(small, monkeypatch, shuffle, shape):
    counted, found, stack = Counted(), [], torch.stack

    def transform(sample):
        array = np.full(50_000, sample["label"], "i4")
        counted.add(1)
        weakref.finalize(array, counted.add, -1)
        return {"pixels": array} if shape is dict else (array,) if shape is tuple else array

    def counting(*arguments, **words):
        found.append(counted.alive)
        return stack(*arguments, **words)

    monkeypatch.setattr(torch, "stack", counting)
    monkeypatch.setattr(_batch_memory, "_STACKED_AT_ONCE", 400_000)  # two of them
    loader = Loader(small, 8, num_threads=0, transform=transform, **{**BLOCKS, "shuffle": shuffle})
    order = loader._draw.order(0)[:8].tolist()
    batch = next(iter(loader))
    pixels = batch["pixels"] if shape is dict else batch[0] if shape is tuple else batch
    assert found == [8, 6, 4, 2] and counted.alive == 0
    assert pixels[:, 7].tolist() == pixels[:, -1].tolist() == order


def test_a_dataset_keeps_the_samples_that_are_its_own():
    samples = [{"x": torch.full((30_000,), row)} for row in range(6)]
    for _ in range(2):
        assert [batch["x"][:, 5].tolist() for batch in Loader([samples], 4)] == [[0, 1, 2, 3], [4, 5]]
    assert len(samples) == 6 and all((sample["x"] == row).all() for row, sample in enumerate(samples))


def test_block_loads_a_batch_ahead_for_each_thread_others_two(small):
    for words, ahead in (({}, 6), ({"shuffle": True}, 6), (BLOCKS, 3), ({**BLOCKS, "prefetch_factor": 4}, 12), ({"prefetch_factor": 1}, 3)):
        loader = Loader(small, 4, num_threads=3, **words)
        batches = iter(loader)
        assert batches._ahead._shared.ahead == ahead
