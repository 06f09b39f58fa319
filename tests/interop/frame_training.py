"""One rank of a training over frames of videos: python frame_training.py PATH RANK RANKS PORT. Prints the keys that it saw, a line each."""

import os
import sys

import shale
import torch.distributed
from torch.utils.data import DataLoader, DistributedSampler


def main(path, rank, ranks, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=port, RANK=rank, WORLD_SIZE=ranks)
    torch.distributed.init_process_group("gloo")
    dataset = shale.Dataset(path, decode="torchrgb8", select={"frames": shale.clip(4, 2)})
    sampler = DistributedSampler(dataset, shuffle=True, seed=3)
    loader = DataLoader(dataset, batch_size=3, sampler=sampler, num_workers=2, persistent_workers=True, multiprocessing_context="fork")
    for epoch in range(2):
        sampler.set_epoch(epoch)
        pixels = torch.zeros(1, dtype=torch.int64)
        for batch in loader:
            assert batch["frames"].shape[1:3] == (4, 3)
            pixels += batch["frames"].sum()
            print(epoch, *batch["key"], sep="\n", flush=True)
        torch.distributed.all_reduce(pixels)
    torch.distributed.destroy_process_group()


main(*sys.argv[1:])
