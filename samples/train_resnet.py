#!/usr/bin/env python3
"""Trains a small residual network on the CPU, over a dataset of shale.

    python3 samples/train_resnet.py build/quickstart/dataset

The dataset may be of any format, or an LMDB, HDF5 or TFRecord file of another tool that has an image and an integer field.
Needs torch; a fifth of the samples is kept for validation.
"""

import argparse
import time

import shale
import shale.torch
import torch
from torch import nn
from torch.nn import functional


class ToFixedSize:
    """(3, H, W) uint8 to (3, size, size) float32 in [-1, 1]."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __call__(self, sample: dict) -> dict:
        pixels = sample["image"].unsqueeze(0).float() / 127.5 - 1
        resized = functional.interpolate(
            pixels, (self.size, self.size), mode="bilinear", align_corners=False, antialias=True
        )
        return {"image": resized[0], "label": sample["label"]}


class ResidualBlock(nn.Module):
    """He et al. 2015, figure 2: two 3 x 3 convolutions beside a shortcut."""

    def __init__(self, channels_in: int, channels: int, stride: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(channels_in, channels, 3, stride, 1, bias=False),
            nn.GroupNorm(8, channels),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, 1, 1, bias=False),
            nn.GroupNorm(8, channels),
        )
        self.shortcut = nn.Conv2d(channels_in, channels, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return functional.relu(self.body(x) + self.shortcut(x))


def make_network(classes: int) -> nn.Module:
    return nn.Sequential(
        ResidualBlock(3, 16, 2),
        ResidualBlock(16, 32, 2),
        ResidualBlock(32, 64, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, classes),
    )


def accuracy(network: nn.Module, batches: shale.torch.Loader) -> float:
    network.eval()
    right = total = 0
    with torch.no_grad():
        for batch in batches:
            guesses = network(batch["image"]).argmax(1)
            right += int((guesses == batch["label"]).sum())
            total += len(guesses)
    return right / max(1, total)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", help="what shale convert wrote")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--size", type=int, default=64, help="sides of the images, pixels")
    parser.add_argument("--threads", type=int, help="that read and decode; default: as many as there are CPUs")
    options = parser.parse_args()

    torch.manual_seed(0)
    dataset = shale.Dataset(
        options.dataset, fields=["image", "label"], decode="torchrgb8", transform=ToFixedSize(options.size)
    )
    labels = dataset.column("label")
    classes = len(dataset.classes) or int(labels.max()) + 1
    order = shale.EpochOrder(len(dataset))[:]
    split = len(order) * 4 // 5
    training = shale.torch.Loader(
        dataset, options.batch_size, shuffle=True, indices=order[:split], num_threads=options.threads
    )
    validation = shale.torch.Loader(dataset, options.batch_size, indices=order[split:], num_threads=options.threads)
    print(f"{dataset}: {classes} classes, {split} to train on")

    network = make_network(classes)
    optimizer = torch.optim.AdamW(network.parameters(), lr=3e-3)
    for epoch in range(options.epochs):
        network.train()
        begin, total_loss = time.monotonic(), 0.0
        for batch in training:
            loss = functional.cross_entropy(network(batch["image"]), batch["label"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total_loss += loss.item() * len(batch["label"])
        seconds = time.monotonic() - begin
        print(
            f"epoch {epoch}: loss {total_loss / split:.3f}, validation accuracy {accuracy(network, validation):.2f}, "
            f"{split / seconds:.0f} images/s"
        )


if __name__ == "__main__":
    main()
