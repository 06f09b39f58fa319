"""One shuffled epoch of decoded photos through a loader, as its documents show it; prints what it gave, as JSON.

epochs.py WAY PATH [--images N] [--workers 2] [--batch 64]
Runs in the environment of bench/loader.py. Every way gives batches of (224, 224, 3) uint8 cut from the middle of the photo and
labels. The clock starts when the first batch has come (workers have started, FFCV has compiled) and stops after N images.
"""

import argparse
import glob
import importlib.util
import io
import json
import os
import sys
import time
import types

import process_tree

SIDE = 224
SHUFFLE_BUFFER = 1000


# ---- the same middle of every photo, black where the photo is smaller ------------------------------------------------------


def middle_of_image(image):
    """Of a PIL.Image."""
    import numpy as np
    import torch

    left, top = (image.width - SIDE) // 2, (image.height - SIDE) // 2
    return torch.from_numpy(np.array(image.crop((left, top, left + SIDE, top + SIDE))))


def middle_of_pixels(pixels):
    """Of an array (H, W, 3)."""
    import torch

    top, left = (pixels.shape[0] - SIDE) // 2, (pixels.shape[1] - SIDE) // 2
    middle = torch.zeros((SIDE, SIDE, 3), dtype=torch.uint8)
    cut = torch.from_numpy(pixels[max(top, 0) : max(top, 0) + SIDE, max(left, 0) : max(left, 0) + SIDE])
    into_top, into_left = max(-top, 0), max(-left, 0)
    middle[into_top : into_top + cut.shape[0], into_left : into_left + cut.shape[1]] = cut
    return middle


def middle_of_sample(sample):
    """Of a sample of shale.Dataset."""
    return middle_of_pixels(sample["image"]), sample["label"]


def decoded(encoded):
    from PIL import Image

    return Image.open(io.BytesIO(encoded)).convert("RGB")


def import_torchvision():
    """A torchvision without its compiled operators cannot be imported: it describes operators that nobody has defined. Their
    names are enough; its datasets use none of them."""
    import torch

    for name in ("nms", "qnms"):
        torch.library.define(f"torchvision::{name}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    import torchvision

    return torchvision


def shuffled(dataset, arguments):
    from torch.utils.data import DataLoader

    return DataLoader(dataset, batch_size=arguments.batch, shuffle=True, num_workers=arguments.workers)


# ---- each way: (path, arguments) -> iterable of (images, labels) -----------------------------------------------------------


def by_torchvision(path, arguments):
    ImageFolder = import_torchvision().datasets.ImageFolder
    return shuffled(ImageFolder(path, transform=middle_of_image), arguments)


def by_shale_image_folder(path, arguments):
    import shale.torch

    return shuffled(shale.torch.ImageFolder(path, transform=middle_of_image), arguments)


def by_shale(path, arguments):
    import shale

    return shuffled(shale.Dataset(path, ["image", "label"], "rgb8", transform=middle_of_sample), arguments)


class LmdbFolder:
    """The Dataset that goes with folder2lmdb: the environment is opened in the worker, one transaction a sample."""

    def __init__(self, path, samples):
        self.path, self.samples, self.env = path, samples, None

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        import lmdb
        import msgpack

        if self.env is None:
            self.env = lmdb.open(self.path, subdir=False, readonly=True, lock=False, readahead=False, meminit=False)
        with self.env.begin() as txn:
            sample = msgpack.unpackb(txn.get(b"%08d" % index))
        return middle_of_image(decoded(sample["image"])), sample["label"]


def by_py_lmdb(path, arguments):
    import readers

    shards = readers.Shards(path)
    return shuffled(LmdbFolder(shards.paths[0], shards.samples), arguments)


def by_webdataset(path, arguments):
    import webdataset

    shards = sorted(glob.glob(os.path.join(path, "*.tar")))
    dataset = (
        webdataset.WebDataset(shards, shardshuffle=len(shards))
        .shuffle(SHUFFLE_BUFFER)
        .decode("pil")
        .to_tuple("jpg", "cls")
        .map_tuple(middle_of_image, int)
        .batched(arguments.batch)
    )
    return webdataset.WebLoader(dataset, batch_size=None, num_workers=arguments.workers)


def import_streaming_dataset():
    """StreamingDataset without the rest of its package, which imports transformers for loaders of text."""
    (home,) = importlib.util.find_spec("streaming").submodule_search_locations
    for name in ("streaming", "streaming.base"):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(home, *name.split(".")[1:])]
        sys.modules[name] = package
    from streaming.base.dataset import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    return StreamingDataset


def by_streaming(path, arguments):
    from torch.utils.data import DataLoader

    class Photos(import_streaming_dataset()):
        def __getitem__(self, index):
            sample = super().__getitem__(index)
            return middle_of_image(decoded(sample["image"])), sample["label"]

    dataset = Photos(local=path, shuffle=True, batch_size=arguments.batch)
    return DataLoader(dataset, batch_size=arguments.batch, num_workers=arguments.workers)


def by_ffcv(path, arguments):
    """Threads of one process, no DataLoader. Its decoder scales the middle of the photo to 224 x 224."""
    from ffcv.fields.basics import IntDecoder
    from ffcv.fields.rgb_image import CenterCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import ToTensor

    pipelines = {
        "image": [CenterCropRGBImageDecoder((SIDE, SIDE), ratio=SIDE / 256), ToTensor()],
        "label": [IntDecoder(), ToTensor()],
    }
    return Loader(
        os.path.join(path, "data.beton"),
        batch_size=arguments.batch,
        num_workers=arguments.workers,
        order=OrderOption.RANDOM,
        os_cache=True,
        pipelines=pipelines,
    )


WAYS = {
    "torchvision": by_torchvision,
    "shale-image-folder": by_shale_image_folder,
    "shale-rgb8": by_shale,
    "py-lmdb": by_py_lmdb,
    "webdataset": by_webdataset,
    "streaming": by_streaming,
    "ffcv": by_ffcv,
}


def measure(arguments):
    loader = WAYS[arguments.way](arguments.path, arguments)
    batches, wanted = iter(loader), -(-arguments.images // arguments.batch)
    check(next(batches), arguments)
    before, idle, begin = process_tree.usage(), process_tree.idle_seconds(), time.perf_counter()
    seen, looks = 0, []
    for number, (images, _) in enumerate(batches, 1):
        seen += len(images)
        if number * 4 // wanted != (number - 1) * 4 // wanted:
            looks.append(process_tree.usage())
        if number >= wanted:
            break
    elapsed = time.perf_counter() - begin
    idle = process_tree.idle_seconds() - idle
    if not looks:
        raise SystemExit(f"bench: {arguments.path} gave {seen} images, {arguments.images} were wanted")
    after = process_tree.usage()
    return {
        "rate": seen / elapsed,
        "images": seen,
        "cores": (after["cpu"] - before["cpu"]) / elapsed,
        "idle_cores": idle / elapsed,
        "fetched_megabytes_per_s": (after["fetched"] - before["fetched"]) / elapsed / 1e6,
        "rss": max(look["rss"] for look in looks),
        "pss": max(look["pss"] for look in looks),
    }


def check(batch, arguments):
    images, labels = batch
    expected = (arguments.batch, SIDE, SIDE, 3)
    if tuple(images.shape) != expected or str(images.dtype) != "torch.uint8" or len(labels) != arguments.batch:
        raise SystemExit(f"bench: {arguments.way} gave {tuple(images.shape)} {images.dtype}, expected {expected} uint8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("path")
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    arguments = parser.parse_args()
    print(json.dumps(measure(arguments)), flush=True)
    process_tree.end()


if __name__ == "__main__":
    main()
