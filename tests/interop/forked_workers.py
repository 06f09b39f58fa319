"""Reads every sample of shards as a training loop does: a map-style dataset in two forked DataLoader workers."""

import bisect
import itertools

import torch.utils.data


class Shards(torch.utils.data.Dataset):
    """Samples of several shards, one after the other. `open_shard(path)` gives something with len() and [row].

    opens_early: open the shards here, in the parent, so that the workers inherit them over fork; else in the worker that first
    reads one.
    """

    def __init__(self, paths, open_shard, lengths, opens_early=False):
        self.paths, self.open_shard = paths, open_shard
        self.ends = list(itertools.accumulate(lengths))
        self.shards = {}
        if opens_early:
            for number in range(len(paths)):
                self.shard(number)

    def shard(self, number):
        if number not in self.shards:
            self.shards[number] = self.open_shard(self.paths[number])
        return self.shards[number]

    def __len__(self):
        return self.ends[-1]

    def __getitem__(self, position):
        number = bisect.bisect_right(self.ends, position)
        return self.shard(number)[position - (self.ends[number - 1] if number else 0)]


def same(samples):
    return samples


def read_in_two_workers(shards):
    """Every sample, in order, as two forked workers read them in batches of 4."""
    loader = torch.utils.data.DataLoader(
        shards, batch_size=4, num_workers=2, multiprocessing_context="fork", collate_fn=same
    )
    return [sample for batch in loader for sample in batch]
