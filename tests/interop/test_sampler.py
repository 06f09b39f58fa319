"""shale.torch.StatefulDistributedSampler: with DataLoader, StatefulDataLoader, Accelerate and Lightning, stopped and resumed."""

import itertools
import logging
import pickle

import pytest
import shale
import torch
from conftest import real_torchvision
from documented_code import blocks_of, bytes_left_by
from shale.torch import StatefulDistributedSampler
from torch.utils.data import DataLoader, DistributedSampler


class Numbers(torch.utils.data.Dataset):
    """Sample i is i."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, row):
        return row


def samplers(size, ranks, **words):
    return [StatefulDistributedSampler(Numbers(size), ranks, rank, **words) for rank in range(ranks)]


@pytest.mark.parametrize("size", [0, 1, 2, 3, 7, 8, 9, 5000])
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_lengths_and_padding_are_those_of_torchs_sampler(size, ranks):
    for drop_last in (False, True):
        mine = samplers(size, ranks, drop_last=drop_last)
        theirs = [DistributedSampler(Numbers(size), ranks, rank, drop_last=drop_last, shuffle=False) for rank in range(ranks)]
        rows = [list(sampler) for sampler in mine]
        if size or not drop_last:
            expected = 0 if size == 0 else size // ranks if drop_last else -(-size // ranks)
            assert [len(each) for each in rows] == [expected] * ranks == [len(sampler) for sampler in samplers(size, ranks, drop_last=drop_last)]
        if size and not (drop_last and size < ranks):
            assert [len(each) for each in rows] == [len(list(each)) for each in theirs]
        if not drop_last:
            assert set(itertools.chain(*rows)) == set(range(size))
    exact = [list(sampler) for sampler in samplers(size, ranks, even_batches=False)]
    assert sorted(itertools.chain(*exact)) == list(range(size))
    assert [len(each) for each in exact] == [len(sampler) for sampler in samplers(size, ranks, even_batches=False)]


def test_the_order_is_that_of_the_epoch_whatever_the_ranks():
    order = shale.EpochOrder(103, seed=4, epoch=2)[:].tolist()
    for ranks in (1, 2, 5):
        found = samplers(103, ranks, seed=4, even_batches=False)
        for sampler in found:
            sampler.set_epoch(2)
        dealt = itertools.zip_longest(*found)
        assert [row for step in dealt for row in step if row is not None] == order


def test_epochs_follow_one_another_unless_one_is_set():
    sampler = StatefulDistributedSampler(Numbers(10), seed=1)
    passes = [list(sampler) for _ in range(3)]
    assert passes == [shale.EpochOrder(10, 1, epoch)[:].tolist() for epoch in range(3)]
    counted = StatefulDistributedSampler(Numbers(10), seed=1)
    batches = DataLoader(Numbers(10), 5, sampler=counted)
    assert [row for _ in range(3) for rows in itertools.islice(batches, 2) for row in rows.tolist()] == sum(passes, [])
    sampler.set_epoch(1)
    next(iter(sampler))  # left in the middle: the epoch begins again
    assert list(sampler) == passes[1]


@pytest.mark.parametrize("stop", [0, 1, 5, 6])
@pytest.mark.parametrize("ranks_after", [1, 3, 4])
def test_every_sample_once_over_a_stop_and_other_ranks(stop, ranks_after):
    size, batch = 100, 2
    before = samplers(size, 8, even_batches=False, seed=9)
    for sampler in before:
        sampler.set_epoch(3)
    loaders = [DataLoader(Numbers(size), batch, sampler=sampler, num_workers=0) for sampler in before]
    seen, states = [], []
    for loader, sampler in zip(loaders, before):
        for step, rows in enumerate(loader, 1):
            if step <= stop:
                seen += rows.tolist()
        states.append(sampler.state_dict(samples_seen=stop * batch))
    assert all(state == states[0] for state in states) and len(pickle.dumps(states[0])) < 1024
    after = samplers(size, ranks_after, even_batches=False, seed=9)
    for sampler in after:
        sampler.load_state_dict(states[0])
        sampler.set_epoch(3)
        seen += list(sampler)
    assert sorted(seen) == list(range(size))
    assert [sampler.epoch for sampler in after] == [4] * ranks_after


def test_workers_that_fetch_ahead_do_not_count():
    sampler = StatefulDistributedSampler(Numbers(64))
    batches = iter(DataLoader(Numbers(64), 4, sampler=sampler, num_workers=2))
    seen = [row for _ in range(3) for row in next(batches).tolist()]
    state = sampler.state_dict(samples_seen=12)
    assert state["samples_seen"] == 12 < sampler.state_dict()["samples_seen"]
    resumed = StatefulDistributedSampler(Numbers(64))
    resumed.load_state_dict(state)
    assert sorted(seen + list(resumed)) == list(range(64))
    again = StatefulDistributedSampler(Numbers(64))  # saved before anything is drawn: still there
    again.load_state_dict(state)
    assert again.state_dict() == state


def test_states_that_do_not_fit_are_refused_by_name():
    state = StatefulDistributedSampler(Numbers(10), seed=1).state_dict()
    for change, error, text in [
        ({"seed": 2}, shale.MismatchError, "seed 2, the sampler has 1"),
        ({"samples": 9}, shale.MismatchError, "samples 9, the sampler has 10; the dataset is another one, or was appended to"),
        ({"version": 99}, shale.MismatchError, "version 99"),
        ({"version": True}, shale.MismatchError, "version True"),
        ({"seed": True}, shale.MismatchError, "seed True"),
        ({"shuffle": False}, shale.MismatchError, "shuffle False"),
        ({"samples_seen": 11}, shale.UsageError, "seen 11 of 10"),
        ({"samples_seen": -1}, shale.UsageError, "samples_seen of the state is -1"),
        ({"epoch": "x"}, shale.UsageError, "epoch of the state is 'x'"),
    ]:
        with pytest.raises(error, match=text):
            StatefulDistributedSampler(Numbers(10), seed=1).load_state_dict({**state, **change})
    for broken, text in [({}, "no 'version'"), (None, "NoneType"), ({"version": 1}, "no 'epoch'")]:
        with pytest.raises(shale.UsageError, match=text):
            StatefulDistributedSampler(Numbers(10), seed=1).load_state_dict(broken)


def test_what_the_sampler_refuses():
    for words, text in [
        ({"shuffle": "block"}, "shale.torch.Loader"),
        ({"rank": 2, "num_replicas": 2}, "rank is 2 of 2"),
        ({"rank": 0}, "rank is given, but num_replicas is not"),
        ({"num_replicas": 0, "rank": 0}, "num_replicas is 0"),
        ({"drop_last": 1}, "drop_last is 1"),
    ]:
        with pytest.raises(shale.UsageError, match=text):
            StatefulDistributedSampler(Numbers(10), **words)


def test_ranks_of_the_environment_are_taken_and_logged(monkeypatch, caplog):
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "3")
    with caplog.at_level(logging.WARNING, "shale"):
        sampler = StatefulDistributedSampler(Numbers(9))
    assert (sampler.rank, sampler.num_replicas) == (1, 3)
    assert caplog.messages == ["rank 1 of 3, from RANK and WORLD_SIZE: torch.distributed is not initialized"]
    monkeypatch.setenv("RANK", "x")
    with pytest.raises(shale.UsageError, match="RANK='x'"):
        StatefulDistributedSampler(Numbers(9))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stateful_data_loader_keeps_the_place(workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader")

    def loader():
        sampler = StatefulDistributedSampler(Numbers(40), seed=2)
        return stateful.StatefulDataLoader(Numbers(40), 4, sampler=sampler, num_workers=workers)

    first = loader()
    batches = iter(first)
    seen = [row for _ in range(3) for row in next(batches).tolist()]
    state = first.state_dict()
    second = loader()
    second.load_state_dict(state)
    seen += [row for rows in second for row in rows.tolist()]
    assert sorted(seen) == list(range(40))
    assert [row for rows in second for row in rows.tolist()] == shale.EpochOrder(40, 2, 1)[:].tolist()


def test_accelerate_keeps_the_order_and_the_place():
    real_torchvision()
    import accelerate

    accelerator = accelerate.Accelerator(cpu=True)

    def prepared():
        sampler = StatefulDistributedSampler(Numbers(40), 1, 0, seed=2)
        return sampler, accelerator.prepare(DataLoader(Numbers(40), 4, sampler=sampler))

    sampler, loader = prepared()
    epochs = [[row for rows in loader for row in rows.tolist()]]
    epochs.append([])
    for step, rows in enumerate(loader, 1):
        epochs[1] += rows.tolist()
        if step == 3:
            state = sampler.state_dict(samples_seen=step * 4)  # Accelerate looks a batch ahead
    assert epochs == [shale.EpochOrder(40, 2, epoch)[:].tolist() for epoch in range(2)]
    sampler, loader = prepared()
    sampler.load_state_dict(state)
    loader.set_epoch(state["epoch"])  # else Accelerate begins with epoch 0
    assert [row for rows in loader for row in rows.tolist()] == epochs[1][12:]


def test_a_loaded_place_that_another_epoch_gives_up_is_logged(caplog):
    sampler = StatefulDistributedSampler(Numbers(10))
    state = {**sampler.state_dict(samples_seen=4), "epoch": 3}
    sampler.load_state_dict(state)
    sampler.set_epoch(3)
    assert not caplog.messages and len(list(sampler)) == 6
    sampler.load_state_dict(state)
    sampler.set_epoch(0)
    assert caplog.messages == ["set_epoch(0) gives up the place at sample 4 of epoch 3, which was loaded"]
    assert len(list(sampler)) == 10


def test_lightning_takes_it_and_sets_its_epoch(tmp_path):
    real_torchvision()
    import pytorch_lightning as lightning

    seen = []

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(1, 1)

        def training_step(self, rows, number):
            seen.append((self.current_epoch, rows.tolist()))
            return self.layer(rows.float().unsqueeze(1)).mean()

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.1)

    sampler = StatefulDistributedSampler(Numbers(12), 1, 0, seed=3)
    trainer = lightning.Trainer(
        accelerator="cpu", max_epochs=2, logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, default_root_dir=tmp_path, use_distributed_sampler=False,
    )
    trainer.fit(Module(), DataLoader(Numbers(12), 4, sampler=sampler))
    for epoch in range(2):
        rows = [row for number, batch in seen if number == epoch for row in batch]
        assert rows == shale.EpochOrder(12, 3, epoch)[:].tolist()


@pytest.mark.parametrize("block", blocks_of(["docs/python.md"], "sampler"))
def test_the_documented_loop_runs(block, dataset, tmp_path):
    bytes_left_by(block, dataset, tmp_path)
