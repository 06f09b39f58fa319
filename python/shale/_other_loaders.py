"""Words of other loaders, and what a shale.torch.Loader has instead."""

from __future__ import annotations

import functools
from typing import Any, Callable, TypeVar

# Of torch's DataLoader and DistributedSampler, and what there is instead.
OTHER_WORDS = {
    "batch_sampler": "batches are made by batch_size, shuffle, indices, weights and proportions",
    "generator": "the order and the seeds of transforms follow from seed=",
    "in_order": "batches come in order, whichever thread loads them",
    "multiprocessing_context": "batches are loaded by threads: num_threads=",
    "num_shards": "ranks are given by rank= and num_replicas=",
    "num_workers": "batches are loaded by threads: num_threads=",
    "persistent_workers": "batches are loaded by threads, which end with the epoch",
    "pin_memory_device": "pin_memory= is for CUDA",
    "sampler": "the order follows from shuffle=, seed=, indices=, weights= and proportions=",
    "timeout": "batches are loaded by threads, which nothing ends",
    "worker_init_fn": "batches are loaded by threads; a transform with a parameter `seed` gets one for each sample",
    "workers": "batches are loaded by threads: num_threads=",
    "world_size": "ranks are given by rank= and num_replicas=",
}
_Init = TypeVar("_Init", bound=Callable[..., None])


def with_hints(init: _Init) -> _Init:
    """Has words of torch's loader answered by those of this one."""

    @functools.wraps(init)
    def checked(self: Any, *given: Any, **words: Any) -> None:
        for name in OTHER_WORDS.keys() & words.keys():
            raise TypeError(f"{type(self).__name__}() has no argument {name!r}; {OTHER_WORDS[name]}")
        init(self, *given, **words)

    return checked  # type: ignore[return-value]
