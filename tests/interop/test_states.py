"""A state belongs to the samples that it counts: those of other datasets, or other choices of as many, are refused; so are ranks that changed."""

import pickle
import shutil

import lmdb
import numpy as np
import pytest
import shale
import torch
from conftest import real_torchvision, run_shale
from shale.torch import ImageFolder, Loader, StatefulDistributedSampler
from torch.utils.data import ConcatDataset, Subset
from view_sets import packed, photo

real_torchvision()
COUNT = 12


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Two datasets of as many photos."""
    return [packed([photo(30, 20, 100 * which + seed) for seed in range(COUNT)], tmp_path_factory.mktemp(f"set{which}")) for which in (0, 1)]


def with_samples(path, change):
    dataset = ImageFolder(path)
    dataset.samples = change(list(dataset.samples))
    return dataset


def turned_in_place(path):
    dataset = ImageFolder(path)
    dataset.samples.append(dataset.samples.pop(0))
    return dataset


# Each has as many samples as those in its row, and other ones.
CHOICES = [
    [lambda a, b: ImageFolder(a), lambda a, b: ImageFolder(b), lambda a, b: with_samples(a, lambda pairs: pairs[::-1]), lambda a, b: turned_in_place(a)],
    [lambda a, b: with_samples(a, lambda pairs: pairs[:5]), lambda a, b: with_samples(a, lambda pairs: pairs[5:10])],
    [
        lambda a, b: Subset(ImageFolder(a), range(6)),
        lambda a, b: Subset(ImageFolder(a), range(6, 12)),
        lambda a, b: Subset(ImageFolder(a), [5, 4, 3, 2, 1, 0]),
        lambda a, b: Subset(ImageFolder(a), torch.tensor([1, 4, 3, 2, 5, 0])),
        lambda a, b: Subset(ImageFolder(b), range(6)),
        lambda a, b: Subset(shale.Dataset(b), range(6)),
        lambda a, b: Subset(range(100), range(6)),
        lambda a, b: Subset(range(100), range(1, 7)),
        lambda a, b: Subset(Subset(ImageFolder(a), range(6)), [1, 0, 2, 3, 4, 5]),
    ],
    [
        lambda a, b: ImageFolder(a) + ImageFolder(a),
        lambda a, b: ImageFolder(b) + ImageFolder(b),
        lambda a, b: ImageFolder(a) + ImageFolder(b),
        lambda a, b: ConcatDataset([Subset(ImageFolder(a), range(6)), ImageFolder(a), Subset(ImageFolder(a), range(6, 12))]),
        lambda a, b: [ImageFolder(b), ImageFolder(a)],
        lambda a, b: [shale.Dataset(b), shale.Dataset(a)],
    ],
]


@pytest.mark.parametrize("choices", CHOICES, ids=["folder", "samples", "subset", "several"])
def test_a_state_of_another_choice_of_as_many_samples_is_refused(choices, paths):
    for kind in (lambda data: Loader(data, 4, shuffle=True), StatefulDistributedSampler):
        made = [kind(choice(*paths)) for choice in choices if kind is not StatefulDistributedSampler or not isinstance(choice(*paths), list)]
        states = [each.state_dict() for each in made]
        assert len({state["dataset"] for state in states}) == len(states)
        for mine, one in enumerate(made):
            for other, state in enumerate(states):
                if mine == other:
                    one.load_state_dict(state)
                    continue
                with pytest.raises(shale.MismatchError, match="the state is of dataset"):
                    one.load_state_dict(state)


def test_the_same_choice_has_the_same_state_in_another_process(paths):
    for choice in [choice for row in CHOICES for choice in row]:
        data, again = choice(*paths), pickle.loads(pickle.dumps(choice(*paths)))
        Loader(again, 4, shuffle=True).load_state_dict(Loader(data, 4, shuffle=True).state_dict())


@pytest.mark.parametrize("numbers", [range(2, 11, 4), range(3, 4), range(0), range(5, 0, -2), [3, 1, 4], [2, 2, 2]])
def test_the_same_numbers_are_the_same_choice_whatever_holds_them(numbers, paths):
    rows = [numbers, list(numbers), tuple(numbers), np.array(numbers, np.int32), torch.tensor(list(numbers), dtype=torch.int64)]
    for kind in (lambda rows: Subset(ImageFolder(paths[0]), rows), lambda rows: shale.Dataset(paths[0], indices=rows)):
        states = [Loader(kind(each), 4).state_dict() for each in rows]
        assert all(state == states[0] for state in states)


@pytest.mark.parametrize("kind", [lambda data: Loader(data, 4, shuffle=True, collate_fn=len), StatefulDistributedSampler], ids=["loader", "sampler"])
@pytest.mark.parametrize("of", [lambda dataset: dataset, lambda dataset: dataset and Subset(dataset, range(COUNT)), lambda dataset: [dataset, dataset]])
def test_samples_that_are_set_after_the_loader_was_made_count(of, kind, paths):
    """The state was that of the samples before."""
    if kind is StatefulDistributedSampler and isinstance(of(0), list):
        pytest.skip("a sampler takes one dataset")
    late, early = ImageFolder(paths[0]), with_samples(paths[0], lambda pairs: pairs[::-1])
    loader = kind(of(late))
    late.samples = late.samples[::-1]
    next(iter(loader))
    state = loader.state_dict()
    kind(of(early)).load_state_dict(state)
    with pytest.raises(shale.MismatchError, match="the state is of dataset"):
        kind(of(ImageFolder(paths[0]))).load_state_dict(state)
    late.samples = list(ImageFolder(paths[0]).samples)
    with pytest.raises(shale.MismatchError, match="the state is of dataset"):
        loader.load_state_dict(state)


def test_a_number_of_samples_that_changed_is_an_error(paths):
    """It was an IndexError, or samples that never came."""
    for change in (lambda pairs: pairs[:5], lambda pairs: pairs * 2):
        dataset = ImageFolder(paths[0])
        loader = Loader([paths[1], dataset], 4)
        dataset.samples = change(dataset.samples[:])
        with pytest.raises(shale.MismatchError, match=rf"has (5|24) samples, and had {COUNT} when the loader was made; make another loader"):
            iter(loader)
        dataset = ImageFolder(paths[0])
        sampler = StatefulDistributedSampler(dataset)
        dataset.samples = change(dataset.samples[:])
        for use in (lambda: next(iter(sampler)), lambda: sampler.load_state_dict({})):
            with pytest.raises(shale.MismatchError, match=rf"has (5|24) samples, and had {COUNT} when the sampler was made; make another sampler"):
                use()


def written_lmdb(path, first):
    with lmdb.open(str(path), map_size=1 << 20) as env, env.begin(write=True) as txn:
        for number in range(COUNT):
            txn.put(b"%04d" % number, b"\xff%d" % (first + number))
    return path


@pytest.mark.parametrize("kind", [lambda data: Loader(data, 4, shuffle=True), StatefulDistributedSampler], ids=["loader", "sampler"])
def test_a_file_of_another_tool_is_known_by_its_content(kind, tmp_path):
    """The directory of an LMDB was any other; and a file that was indexed since, another one."""
    one, other = (written_lmdb(tmp_path / name, first) for name, first in (("one.lmdb", 0), ("other.lmdb", 100)))
    state = kind(shale.Dataset(one)).state_dict()
    with pytest.raises(shale.MismatchError, match="the state is of dataset"):
        kind(shale.Dataset(other)).load_state_dict(state)
    run_shale("index", one, "--crc")
    kind(shale.Dataset(one)).load_state_dict(state)
    shutil.copytree(one, tmp_path / "copy.lmdb")
    kind(shale.Dataset(tmp_path / "copy.lmdb")).load_state_dict(state)


def test_the_script_of_a_slurm_job_is_one_process(paths, monkeypatch):
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setenv("SLURM_NTASKS", "8")
    assert Loader(paths[0], 4).num_replicas == 1


def test_a_sampler_of_a_number_takes_the_state_of_any_dataset(paths):
    state = StatefulDistributedSampler(ImageFolder(paths[0])).state_dict()
    StatefulDistributedSampler(COUNT).load_state_dict(state)
    StatefulDistributedSampler({1, 2}).load_state_dict(StatefulDistributedSampler({3, 4}).state_dict())


# --- ranks


@pytest.fixture
def group():
    """Makes this process rank 1 of 2."""
    fake = pytest.importorskip("torch.testing._internal.distributed.fake_pg")
    yield lambda: torch.distributed.init_process_group("fake", rank=1, world_size=2, store=fake.FakeStore())
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize("make", [lambda data, **rank: Loader(data, 4, **rank), StatefulDistributedSampler], ids=["loader", "sampler"])
def test_a_process_group_that_came_later_is_an_error(make, paths, group):
    data = ImageFolder(paths[0])
    found, given = make(data), make(data, rank=0, num_replicas=1)
    assert len(list(found)) == len(found)
    group()
    with pytest.raises(shale.UsageError, match=r"made as rank 0 of 1, but torch.distributed, initialized since, says rank 1 of 2; make it after"):
        list(found)
    assert len(list(given)) == len(given)
    assert make(data).num_replicas == 2 and len(list(make(data))) == len(make(data))


SLURM = [("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"), ("SLURM_PROCID", "SLURM_NTASKS")]


@pytest.mark.parametrize("rank, ranks", [*SLURM, ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE")])
def test_one_of_several_processes_says_which_it_is(rank, ranks, paths, monkeypatch, group):
    monkeypatch.setenv(rank, "3")
    monkeypatch.setenv(ranks, "8")
    for make in (StatefulDistributedSampler, lambda data, **more: Loader(data, 4, **more)):
        with pytest.raises(shale.UsageError, match=f"{rank} and {ranks} say that this is process 3 of 8.*pass rank=3, num_replicas=8, or rank=0"):
            make(ImageFolder(paths[0]))
        assert make(ImageFolder(paths[0]), rank=3, num_replicas=8).rank == 3
    group()
    assert Loader(paths[0], 4).num_replicas == 2
    torch.distributed.destroy_process_group()
    monkeypatch.setenv(ranks, "1")
    assert Loader(paths[0], 4).num_replicas == 1


@pytest.mark.parametrize("words, text", [({"RANK": "1"}, "RANK='1' and no WORLD_SIZE"), ({"WORLD_SIZE": "2"}, "no RANK and WORLD_SIZE='2'")])
def test_half_of_a_place_in_the_environment_is_an_error(words, text, paths, monkeypatch):
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(shale.UsageError, match=text):
        Loader(paths[0], 4)


def test_a_world_of_one_needs_no_rank(paths, monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert (Loader(paths[0], 4).rank, Loader(paths[0], 4).num_replicas) == (0, 1)
