"""One shuffled epoch of photos for training: RandomResizedCrop(224), flipped, float32, normalized; prints what it gave, as JSON.

cropped_epochs.py WAY PATH [--images N] [--workers 2] [--batch 64] [--cpus N]
Runs in the environment of bench/loader.py. Every way gives batches of (3, 224, 224) float32 and labels. `--cpus` pins all of it to so many
CPUs; `--workers 0` decodes in the process itself. The clock starts when the first batch has come and stops after N images.
"""

import argparse
import glob
import json
import os
import time

import epochs
import process_tree

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def compose():
    """What scripts have had for years."""
    epochs.import_torchvision()
    from torchvision import transforms

    return transforms.Compose(
        [
            transforms.RandomResizedCrop(epochs.SIDE),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(MEAN, STD),
        ]
    )


# ---- each way: (path, arguments) -> iterable of (images, labels) -----------------------------------------------------------


def by_torchvision(path, arguments):
    transform = compose()
    from torchvision.datasets import ImageFolder

    return epochs.shuffled(ImageFolder(path, transform=transform), arguments)


class PillowSamples:
    """Samples of shale as bytes, decoded by Pillow."""

    def __init__(self, path):
        import shale

        self.samples, self.transform = shale.Dataset(path, ["image", "label"]), compose()

    def __len__(self):
        return len(self.samples)

    def __getitems__(self, rows):
        return [(self.transform(epochs.decoded(sample["image"])), sample["label"]) for sample in self.samples.__getitems__(rows)]


def by_pillow(path, arguments):
    return epochs.shuffled(PillowSamples(path), arguments)


def by_image_folder(path, arguments):
    import shale.torch

    return epochs.shuffled(shale.torch.ImageFolder(path, transform=compose()), arguments)


def by_loader(**settings):
    def prepare(path, arguments):
        import shale.torch

        names = ("image", "label")
        more = {"shuffle": True, "num_threads": max(1, arguments.workers), "as_tuple": names, **settings}
        return shale.torch.Loader(path, arguments.batch, transform=compose(), **more)

    return prepare


def by_webdataset(path, arguments):
    import webdataset

    shards = sorted(glob.glob(os.path.join(path, "*.tar")))
    dataset = (
        webdataset.WebDataset(shards, shardshuffle=len(shards))
        .shuffle(epochs.SHUFFLE_BUFFER)
        .decode("pil")
        .to_tuple("jpg", "cls")
        .map_tuple(compose(), int)
        .batched(arguments.batch)
    )
    return webdataset.WebLoader(dataset, batch_size=None, num_workers=arguments.workers)


def by_streaming(path, arguments):
    from torch.utils.data import DataLoader

    transform = compose()

    class Photos(epochs.import_streaming_dataset()):
        def __getitem__(self, index):
            sample = super().__getitem__(index)
            return transform(epochs.decoded(sample["image"])), sample["label"]

    dataset = Photos(local=path, shuffle=True, batch_size=arguments.batch)
    return DataLoader(dataset, batch_size=arguments.batch, num_workers=arguments.workers)


def by_litdata(path, arguments):
    transform = compose()  # before litdata, which imports torchvision
    import litdata

    class Photos(litdata.StreamingDataset):
        def __getitem__(self, index):
            sample = super().__getitem__(index)
            return transform(epochs.decoded(sample["image"])), sample["label"]

    dataset = Photos(path, shuffle=True)
    return litdata.StreamingDataLoader(dataset, batch_size=arguments.batch, num_workers=arguments.workers)


def by_ffcv(path, arguments):
    """Threads of one process, no DataLoader."""
    import numpy as np
    from ffcv.fields.basics import IntDecoder
    from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
    from ffcv.loader import Loader, OrderOption
    from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage

    levels = [np.array(values) * 255 for values in (MEAN, STD)]
    cropped = [RandomResizedCropRGBImageDecoder((epochs.SIDE, epochs.SIDE)), RandomHorizontalFlip()]
    normalized = [NormalizeImage(*levels, np.float32), ToTensor(), ToTorchImage(convert_back_int16=False)]  # behind tensors it never starts on a CPU
    pipelines = {"image": cropped + normalized, "label": [IntDecoder(), ToTensor()]}
    return Loader(
        os.path.join(path, "data.beton"),
        batch_size=arguments.batch,
        num_workers=max(1, arguments.workers),
        order=OrderOption.RANDOM,
        os_cache=True,
        pipelines=pipelines,
    )


WAYS = {
    "torchvision": by_torchvision,
    "pillow": by_pillow,
    "image-folder": by_image_folder,
    "loader": by_loader(),
    "loader-full": by_loader(scaled_decoding=False),
    "webdataset": by_webdataset,
    "streaming": by_streaming,
    "litdata": by_litdata,
    "ffcv": by_ffcv,
}


def measure(arguments):
    """Over as many epochs as it takes."""
    loader = WAYS[arguments.way](arguments.path, arguments)

    def batches():
        while True:
            yield from loader

    given = batches()
    check(next(given), arguments)
    before, begin, seen, looks = process_tree.usage(), time.perf_counter(), 0, []
    while seen < arguments.images:
        seen += len(next(given)[0])
        if seen * 4 // arguments.images != (seen - arguments.batch) * 4 // arguments.images:
            looks.append(process_tree.usage())
    elapsed = time.perf_counter() - begin
    after = process_tree.usage()
    return {
        "rate": seen / elapsed,
        "images": seen,
        "cores": (after["cpu"] - before["cpu"]) / elapsed,
        "rss": max(look["rss"] for look in [*looks, after]),
        "pss": max(look["pss"] for look in [*looks, after]),
    }


def check(batch, arguments):
    images, labels = batch[:2]
    expected = (arguments.batch, 3, epochs.SIDE, epochs.SIDE)
    if tuple(images.shape) != expected or str(images.dtype) != "torch.float32" or len(labels) != arguments.batch:
        raise SystemExit(f"bench: {arguments.way} gave {tuple(images.shape)} {images.dtype}, expected {expected} float32")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("way", choices=WAYS)
    parser.add_argument("path")
    parser.add_argument("--images", type=int, default=4000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--cpus", type=int, default=0, help="pinned to so many")
    arguments = parser.parse_args()
    if arguments.cpus:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-arguments.cpus :])
        import torch

        torch.set_num_threads(arguments.cpus)
    print(json.dumps(measure(arguments)), flush=True)
    process_tree.end()


if __name__ == "__main__":
    main()
