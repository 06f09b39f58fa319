#!/usr/bin/env python3
"""Does a ResNet-18 learn as much from shale's pixels as from Pillow's? Trained from scratch by three pipelines; accuracy and its noise.

    PYTHONPATH=build/release/python python bench/accuracy.py [--photos ROOT] [--rounds 5] [--epochs 40] [--side 64]

Each round is a seed: initial weights are the same for all pipelines, crops are everybody's own random numbers. If ROOT has class folders of
several photos, every fifth of a class is for validation. If each class has one photo only, the task is "which photo is this crop of": training and
validation share photos, and differ by their crops. Validation is of fixed tensors: the middle, and four fixed crops of each photo, decoded by
Pillow for all alike, and the middle as the pipeline itself decodes it. The difference is of runs of one seed; its standard error is over seeds.
"""

import json
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

import harness
import inputs
import torch

sys.path.insert(0, str(harness.ROOT / "tests/interop"))
from conftest import real_torchvision

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
SCALE, FIXED_CROPS = (0.2, 1.0), 4
FULL, SCALED, PEER = "shale, `scaled_decoding=False`", "shale", "torchvision and Pillow"
JUDGES = ("middle", "fixed crops", "middle, own pixels")


def split(arguments):
    """Copies the photos to WORK/accuracy/train and val."""
    out = arguments.work / "accuracy"
    harness.remove(out)
    folders = sorted(folder for folder in arguments.photos.iterdir() if folder.is_dir())[: arguments.classes]
    photos = {folder: sorted(p for p in folder.iterdir() if p.suffix.lower() in (".jpg", ".jpeg")) for folder in folders}
    is_one_each = all(len(files) == 1 for files in photos.values())
    for folder, files in photos.items():
        for number, path in enumerate(files):
            parts = ("train", "val") if is_one_each else ("val",) if number % 5 == 4 else ("train",)
            for part in parts:
                (out / part / folder.name).mkdir(parents=True, exist_ok=True)
                shutil.copy(path, out / part / folder.name / path.name)
    if not is_one_each and not all((out / "val" / folder.name).exists() for folder in folders):
        raise SystemExit(f"bench: a class of {arguments.photos} has fewer than five photos\nhint: one photo in every class, or at least five")
    for part in ("train", "val"):
        subprocess.run(inputs.convert(arguments, out / part, out / f"{part}-shale", "record"), check=True)
    return out


def batches_by(way, root, part, transform, arguments, seed=None):
    """A loader of (images, labels); shuffled if there is a seed."""
    if way == PEER:
        from torchvision.datasets import ImageFolder

        dice = torch.Generator().manual_seed(seed or 0)
        workers = {"num_workers": 2, "persistent_workers": True} if seed is not None else {}
        return torch.utils.data.DataLoader(
            ImageFolder(str(root / part), transform), arguments.batch, shuffle=seed is not None, generator=dice, **workers
        )
    import shale.torch

    return shale.torch.Loader(
        str(root / f"{part}-shale"), arguments.batch, shuffle=seed is not None, seed=seed or 0, num_threads=2, transform=transform,
        as_tuple=("image", "label"), scaled_decoding=way == SCALED,
    )  # fmt: skip


def gathered(loader):
    images, labels = zip(*[(images.clone(), labels) for images, labels in loader])
    return torch.cat(images), torch.cat(labels)


def judges_of(root, crop, middle, arguments):
    """{way: {judge: (images, labels)}}"""
    of_way = {way: gathered(batches_by(way, root, "val", middle, arguments)) for way in (PEER, SCALED, FULL)}
    torch.manual_seed(0)
    crops = [gathered(batches_by(PEER, root, "val", crop, arguments)) for _ in range(FIXED_CROPS)]
    fixed = tuple(torch.cat(parts) for parts in zip(*crops))
    return {way: dict(zip(JUDGES, (of_way[PEER], fixed, own))) for way, own in of_way.items()}


def trained(model, loader, arguments):
    steps = arguments.epochs * len(loader)
    optimizer = torch.optim.AdamW(model.parameters(), lr=arguments.rate, weight_decay=0.05)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, arguments.rate, total_steps=steps)
    model.train()
    for _ in range(arguments.epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(images), labels).backward()
            optimizer.step()
            schedule.step()
    return model.eval()


@torch.no_grad()
def accuracy(model, images, labels):
    right = sum(int((model(part).argmax(1) == truth).sum()) for part, truth in zip(images.split(100), labels.split(100)))
    return 100 * right / len(labels)


def with_error(values):
    """Mean and standard error."""
    return f"{statistics.mean(values):+.1f} +- {statistics.stdev(values) / math.sqrt(len(values)):.1f}" if len(values) > 1 else "-"


def table(found):
    rows = []
    for way, runs in found.items():
        for judge in JUDGES:
            values = [run[judge] for run in runs]
            differences = [run[judge] - other[judge] for run, other in zip(runs, found[PEER])]
            spread = statistics.stdev(values) if len(values) > 1 else 0
            rows.append([f"{way}: {judge}", f"{statistics.mean(values):.1f}", f"{spread:.1f}",
                         "" if way == PEER else with_error(differences)])  # fmt: skip
    return harness.markdown(["accuracy, %", "mean", "standard deviation", "difference, standard error"], rows)


def options_of():
    options = harness.parser(__doc__)
    inputs.add_photos(options)
    options.add_argument("--epochs", type=int, default=40)
    options.add_argument("--side", type=int, default=64)
    options.add_argument("--batch", type=int, default=25)
    options.add_argument("--classes", type=int, default=50, help="so many class folders, the first ones")
    options.add_argument("--rate", type=float, default=0.001, help="highest learning rate of the cycle")
    return options


def main():
    arguments = options_of().parse_args()
    harness.needs_shale(arguments)
    os.makedirs(arguments.work, exist_ok=True)
    arguments.work, arguments.photos = arguments.work.resolve(), pathlib.Path(arguments.photos).resolve()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    real_torchvision()
    from torchvision import models
    from torchvision import transforms as v1

    root = split(arguments)
    tail = [v1.ToTensor(), v1.Normalize(MEAN, STD)]
    crop = v1.Compose([v1.RandomResizedCrop(arguments.side, SCALE), v1.RandomHorizontalFlip(), *tail])
    middle = v1.Compose([v1.Resize(arguments.side * 8 // 7), v1.CenterCrop(arguments.side), *tail])
    judges, found = judges_of(root, crop, middle, arguments), {PEER: [], SCALED: [], FULL: []}
    classes = len(list((root / "train").iterdir()))
    for seed in range(1, arguments.rounds + 1):
        for way, runs in found.items():
            torch.manual_seed(seed)
            model = models.resnet18(num_classes=classes)
            trained(model, batches_by(way, root, "train", crop, arguments, seed), arguments)
            runs.append({judge: accuracy(model, *data) for judge, data in judges[way].items()})
            harness.say(f"  seed {seed}/{arguments.rounds}: {way}: {runs[-1]}")
    print(f"{harness.machine(arguments.work)}; {classes} classes, {arguments.epochs} epochs, {arguments.rounds} seeds\n\n{table(found)}")
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n")
    harness.remove(root)


if __name__ == "__main__":
    main()
