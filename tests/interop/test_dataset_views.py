"""shale.Dataset as people expect it: slices, subsets, splits, tuples, columns of any field, pixels as torchvision takes them."""

import io
import os
import pickle
import shutil

import lmdb
import msgpack
import numpy as np
import pytest
import torch
from conftest import real_torchvision
from documented_code import blocks_of, bytes_left_by
from PIL import Image
from torch.utils.data import DataLoader

shale_package = pytest.importorskip("shale")
import shale
from shale import Dataset, errors
from shale.torch import ImageFolder


@pytest.fixture(scope="module")
def pictures(dataset):
    return Dataset(dataset)


# ---- rows


def test_slices_lists_and_masks_are_lists_of_samples(pictures):
    every = list(pictures)
    size = len(pictures)
    for chosen in (slice(2, 5), slice(None, None, 7), slice(5, 2, -1), slice(-3, None), slice(10, 10), slice(size - 2, size + 9)):
        assert pictures[chosen] == every[chosen]
    assert pictures[[7, 1, 1, -1]] == [every[7], every[1], every[1], every[-1]]
    mask = np.zeros(size, bool)
    mask[[3, 9]] = True
    for chosen in (mask, mask.tolist(), np.array([3, 9]), (3, 9), torch.tensor([3, 9])):
        assert pictures[chosen] == [every[3], every[9]]
    assert pictures[[]] == []
    with pytest.raises(IndexError):
        pictures[[0, size]]
    for wrong in (mask[1:], [[1, 2]], [0.5], ["a"]):
        with pytest.raises(errors.UsageError):
            pictures[wrong]


def test_a_subclass_decides_what_a_slice_is_made_of(dataset):
    class Keys(Dataset):
        def __getitems__(self, indices):
            return [sample["key"] for sample in super().__getitems__(indices)]

    assert Keys(dataset)[1:3] == [sample["key"] for sample in Dataset(dataset)[1:3]]


SUBSETS = {
    "range": range(3, 50, 4),
    "backwards": range(20, 3, -5),
    "to the first": range(9, -1, -3),
    "list": [5, -1, 5, 0],
    "array": np.array([5, 60, 7], np.uint8),
    "mask": np.arange(61) % 3 == 1,
    "nothing": [],
    "tensor": torch.tensor([9, 8]),
}


@pytest.mark.parametrize("name", SUBSETS)
def test_a_subset_is_a_dataset(dataset, pictures, name):
    chosen = SUBSETS[name]
    every = list(pictures)
    wanted = [every[row] for row in np.arange(len(every))[chosen if isinstance(chosen, np.ndarray) else list(chosen)]]
    subset = Dataset(dataset, indices=chosen)
    for ds in (subset, pickle.loads(pickle.dumps(subset))):
        assert len(ds) == len(wanted) and list(ds) == wanted
        assert ds.column("label").tolist() == [sample["label"] for sample in wanted]
        assert ds.column("key").tolist() == [sample["key"] for sample in wanted]
        assert ds.column("image").tolist() == [sample["image"] for sample in wanted]
    for position, sample in enumerate(wanted):
        assert wanted[subset.find(sample["key"])] == sample and subset[position - len(wanted)] == sample
    missing = next(sample["key"] for sample in every if sample not in wanted)
    with pytest.raises(KeyError):
        subset.find(missing)
    assert subset.info.samples == len(every)


def test_a_range_costs_nothing_and_rows_8_bytes(dataset):
    assert len(pickle.dumps(Dataset(dataset, indices=range(50)))) < 4096
    assert Dataset(dataset, indices=[1, 2]).indices.dtype == np.int64
    for wrong in (range(99), [61], [-62], np.array([2**63], np.uint64)):
        with pytest.raises(IndexError, match="of 61"):
            Dataset(dataset, indices=wrong)


def test_folds_of_a_loader(dataset, pictures):
    rows = np.random.default_rng(1).permutation(len(pictures))
    seen = []
    for fold in np.array_split(rows, 5):
        loader = DataLoader(Dataset(dataset, ["key"], indices=fold), batch_size=7, num_workers=2)
        seen += [key for batch in loader for key in batch["key"]]
    assert sorted(seen) == sorted(pictures.column("key"))


# ---- fields


def test_fields_info_repr_and_the_end(dataset):
    with Dataset(dataset, ["label", "key"]) as ds:
        assert ds.fields == ("label", "key")
        assert repr(ds) == f"shale.Dataset({str(dataset)!r}: 61 samples, record; label (integer), key)"
        assert ds.info == shale.info(dataset) and ds.info.samples == 61
        assert ds[0]["label"] == 0
        assert pickle.loads(pickle.dumps(ds)).fields == ("label", "key")
    for use in (lambda: ds[0], lambda: len(ds), lambda: ds.column("label"), lambda: list(ds)):
        with pytest.raises(errors.UsageError, match="closed"):
            use()
    assert "closed" in repr(ds)
    for words in ({"parse": "msgpack"}, {"index_dir": "elsewhere"}):
        with pytest.raises(errors.UsageError, match="for files of other tools, but the input is a shale dataset"):
            Dataset(dataset, **words)
    assert Dataset(dataset).fields == ("key", "image", "label")


def test_closing_gives_the_descriptors_back(dataset, collected):
    def count():
        return len(os.listdir("/proc/self/fd"))

    before = count()
    ds = Dataset(dataset)
    ds[0]
    assert count() > before
    ds.close()
    assert count() == before


def test_columns_of_every_kind(tmp_path):
    rows = [{"b": bytes([row]) * row, "t": f"\u00e4{row}", "n": row, "r": row / 2, "x": np.full((2, 3), row, "f4"), "l": [b"a"] * row}
            for row in range(7)]
    schema = {"b": "bytes", "t": "str", "n": "int", "r": "float", "x": ("float32", (2, 3)), "l": "list"}
    shale.from_iterable(rows, tmp_path / "set", schema=schema)
    ds = Dataset(tmp_path / "set")
    for name in ("b", "t", "l"):
        column = ds.column(name)
        assert column.dtype == object and column.tolist() == [row[name] for row in rows]
    assert ds.column("x").shape == (7, 2, 3) and ds.column("x").dtype == np.float32
    assert np.array_equal(ds.column("x"), np.stack([row["x"] for row in rows]))
    assert ds.column("n").dtype == np.int64 and ds.column("r").dtype == np.float64
    nothing = Dataset(tmp_path / "set", indices=[])
    assert nothing.column("x").shape == (0, 2, 3) and nothing.column("t").shape == (0,)
    with pytest.raises(errors.NotFoundError, match="b.length"):
        ds.column("nothing")


def test_tuples(dataset, pictures):
    ds = Dataset(dataset, as_tuple=("label", "image"))
    assert ds[3] == (pictures[3]["label"], pictures[3]["image"]) and ds.fields == ("label", "image")
    doubled = Dataset(dataset, ["key", "label", "image"], as_tuple=["image", "label"], decode="torchrgb8",
                      transform=lambda pair: (pair[0][:, :8, :8], pair[1] * 2))
    images, labels = next(iter(DataLoader(doubled, batch_size=4)))
    assert images.shape == (4, 3, 8, 8) and labels.tolist() == [2 * sample["label"] for sample in pictures[:4]]
    with pytest.raises(errors.UsageError, match="label"):
        Dataset(dataset, ["image"], as_tuple=["image", "label"])
    with pytest.raises(errors.NotFoundError, match="nothing"):
        Dataset(dataset, as_tuple=["nothing"])
    for wrong in ("image", True):
        with pytest.raises(errors.UsageError, match="as_tuple is"):
            Dataset(dataset, as_tuple=wrong)


# ---- splits


def test_splits(dataset, tmp_path):
    for name in ("train", "val"):
        shutil.copytree(dataset, tmp_path / "set" / name)
    ds = Dataset(tmp_path / "set", split="val")
    assert len(ds) == 61 and ds.path == str(tmp_path / "set/val")
    with pytest.raises(errors.UsageError, match="holds the splits train, val: pass split='train'"):
        Dataset(tmp_path / "set")
    with pytest.raises(errors.NotFoundError, match="no split 'test'; it holds the splits train, val"):
        Dataset(tmp_path / "set", split="test")
    for wrong in ("", "..", "train/..", "/", 5):
        with pytest.raises(errors.UsageError, match="split"):
            Dataset(tmp_path / "set", split=wrong)


# ---- pixels


def encoded(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """Images of many modes; each has its name as key, and a mask."""
    dice = np.random.default_rng(3)

    def noise(*shape):
        return dice.integers(0, 256, shape, np.uint8)

    palette = Image.fromarray(noise(5, 7), "P")
    palette.putpalette(noise(768).tobytes())
    images = {
        "gray.jpg": encoded(Image.fromarray(noise(9, 8)), "JPEG"),
        "rgb.jpg": encoded(Image.fromarray(noise(9, 8, 3)), "JPEG"),
        "cmyk.jpg": encoded(Image.fromarray(noise(9, 8, 4), "CMYK"), "JPEG"),
        "gray.png": encoded(Image.fromarray(noise(6, 5)), "PNG"),
        "sixteen.png": encoded(Image.fromarray(dice.integers(0, 65536, (6, 5), np.uint16)), "PNG"),
        "rgba.png": encoded(Image.fromarray(noise(6, 5, 4)), "PNG"),
        "palette.png": encoded(palette, "PNG"),
        "bit.png": encoded(Image.fromarray(noise(6, 5) > 127), "PNG"),
    }
    rows = [{"key": name, "image": data, "mask": images["palette.png"]} for name, data in images.items()]
    folder = tmp_path_factory.mktemp("odd") / "set"
    shale.from_iterable(rows, folder, schema={"image": "bytes", "mask": "bytes"})
    return folder, images


def test_gray_and_unchanged_pixels_are_pillows(odd):
    folder, images = odd
    for sample in Dataset(folder, decode={"image": "gray8"}):
        expected = np.array(Image.open(io.BytesIO(images[sample["key"]])).convert("L"))
        assert sample["image"].dtype == np.uint8 and np.array_equal(sample["image"], expected), sample["key"]
    kinds = {}
    for sample in Dataset(folder, decode={"image": "unchanged"}):
        expected = np.array(Image.open(io.BytesIO(images[sample["key"]])))
        assert sample["image"].dtype == expected.dtype and np.array_equal(sample["image"], expected), sample["key"]
        kinds[sample["key"]] = (sample["image"].dtype, sample["image"].ndim)
    assert kinds["sixteen.png"] == (np.uint16, 2) and kinds["rgba.png"] == (np.uint8, 3)
    assert kinds["palette.png"] == (np.uint8, 2) and kinds["bit.png"] == (bool, 2)


def test_transforms_of_torchvision_move_masks_along_and_nothing_else(odd):
    real_torchvision()
    from torchvision import tv_tensors
    from torchvision.transforms import v2

    folder, images = odd
    flip = v2.RandomHorizontalFlip(p=1)
    ds = Dataset(folder, decode={"image": "tv", "mask": "tv_mask"})
    flipped = Dataset(folder, decode={"image": "tv", "mask": "tv_mask"}, transform=flip)
    for plain, moved in zip(ds, flipped):
        assert type(plain["image"]) is tv_tensors.Image and type(plain["mask"]) is tv_tensors.Mask
        rgb = np.array(Image.open(io.BytesIO(images[plain["key"]])).convert("RGB"))
        assert plain["image"].dtype == torch.uint8 and np.array_equal(plain["image"].numpy(), rgb.transpose(2, 0, 1))
        assert torch.equal(moved["image"], plain["image"].flip(-1)) and torch.equal(moved["mask"], plain["mask"].flip(-1))
        assert moved["key"] == plain["key"]
    masks = {sample["key"]: sample["image"] for sample in Dataset(folder, ["key", "image"], {"image": "tv_mask"})}
    assert masks["sixteen.png"].dtype == torch.int32 and masks["palette.png"].shape == (5, 7) and masks["rgba.png"].shape == (4, 6, 5)


def test_what_does_not_decode_is_named(tmp_path):
    shale.from_iterable([{"key": "k", "image": b"no image"}], tmp_path / "set", schema={"image": "bytes"})
    for way in ("gray8", "unchanged", "tv", "tv_mask"):
        real_torchvision()
        with pytest.raises(errors.ContentError, match="'k'.*'image'"):
            Dataset(tmp_path / "set", decode=way)[0]
    with pytest.raises(errors.UsageError, match="'tv_mask'"):
        Dataset(tmp_path / "set", decode="mask")


# ---- ImageFolder of anything


def test_imagefolder_takes_the_names_of_the_fields(photos, tmp_path):
    picture = (photos / "n01/n01_big.JPEG").read_bytes()
    with lmdb.open(str(tmp_path / "data"), map_size=1 << 26) as env, env.begin(write=True) as txn:
        for row in range(4):
            txn.put(b"%d" % row, msgpack.packb({"jpg": picture, "thumb": b"x", "y": row, "n": 0}))
    ds = ImageFolder(tmp_path / "data", image="jpg", label="y", parse="msgpack", index_dir=tmp_path / "indexes")
    assert ds[2][1] == 2 and ds[2][0].size == Image.open(io.BytesIO(picture)).size
    assert ds.samples[3] == ("3", 3) and ds.targets == [0, 1, 2, 3]
    assert len(ds[1:3]) == 2
    with pytest.raises(errors.UnsupportedError, match="pass image= with one of jpg, thumb"):
        ImageFolder(tmp_path / "data", parse="msgpack")
    with pytest.raises(errors.NotFoundError, match="label='jpg' is not a field of kind integer; those there are: y, n"):
        ImageFolder(tmp_path / "data", image="jpg", label="jpg", parse="msgpack")


@pytest.mark.parametrize("block", blocks_of(["docs/python.md"], "views"))
def test_the_documented_code_runs(block, dataset, tmp_path):
    bytes_left_by(block, dataset, tmp_path)
