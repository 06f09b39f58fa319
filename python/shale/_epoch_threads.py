"""Threads that load the batches of an epoch ahead, and hand them over in order."""

from __future__ import annotations

import atexit
import collections
import os
import threading
import time
import weakref
from typing import Any, Callable, Deque, Dict, Iterator, List, Optional, Tuple

from shale.errors import UsageError

# How long a program that ends in the middle of an epoch waits for what its threads are doing. A thread that is in torch when the interpreter
# goes away would abort the process.
_SECONDS_AT_EXIT = 5
_running: weakref.WeakSet = weakref.WeakSet()


class _Shared:
    """What threads and consumer share. The threads know nothing else, so that they end when the consumer is dropped."""

    def __init__(self, steps: Iterator[Any], load: Callable[[Any], Any], ahead: int, prepare: Optional[Callable[[Any], None]]) -> None:
        self.steps, self.load, self.ahead, self.prepare = steps, load, ahead, prepare
        self.changed = threading.Condition()
        self.prepared: Deque[Tuple[int, Any]] = collections.deque()
        self.done: Dict[int, tuple] = {}  # by number: (batch, None) or (None, exception)
        self.planned = self.taken = 0
        self.is_over = False  # nothing more is planned
        self.threads: List[threading.Thread] = []

    def stop(self) -> None:
        # Not under the lock: the finalizer that calls it may run in the middle of anything. Whoever waits looks again soon.
        self.is_over = True
        self.done = {}
        self.prepared = collections.deque()
        self.steps = iter(())

    def work(self) -> None:
        while True:
            with self.changed:
                step = self._plan() if self.prepare is None else self._next_prepared()
            if step is None:
                return
            number, outcome = step[0], self._outcome(self.load, step[1])
            with self.changed:
                self._finish(number, outcome)
            del step, outcome  # nothing is held while waiting

    def work_ahead(self) -> None:
        """Of the one thread that prepares steps."""
        assert self.prepare is not None
        while True:
            with self.changed:
                step = self._plan()
            if step is None:
                return
            outcome = self._outcome(self.prepare, step[1])
            with self.changed:
                if outcome[1] is not None:
                    self._finish(step[0], outcome)
                if self.is_over:  # by an error, of this step or an earlier one, or because it was stopped
                    return
                self.prepared.append(step)
                self.changed.notify_all()
            del step, outcome

    def _plan(self) -> Optional[Tuple[int, Any]]:
        """The next step with its number, as soon as there may be one. Under the lock."""
        while not self.is_over and self.planned - self.taken >= self.ahead:
            self.changed.wait(0.5)
        if self.is_over:
            return None
        number = self.planned
        try:
            step = next(self.steps)
        except StopIteration:
            self.is_over = True
            self.changed.notify_all()
            return None
        except BaseException as error:
            self.planned += 1
            self._finish(number, (None, error))
            return None
        self.planned += 1
        return number, step

    def _next_prepared(self) -> Optional[Tuple[int, Any]]:
        """Those before an error, and before the end, are still loaded. Under the lock."""
        while True:
            if self.prepared:
                return self.prepared.popleft()
            if self.is_over:
                return None
            self.changed.wait(0.5)

    def _outcome(self, act: Callable[[Any], Any], step: Any) -> tuple:
        try:
            return load_one(act, step), None
        except BaseException as error:
            return None, error

    def _finish(self, number: int, outcome: tuple) -> None:
        self.done[number] = outcome
        self.is_over = self.is_over or outcome[1] is not None
        self.changed.notify_all()


def load_one(load: Callable[[Any], Any], step: Any) -> Any:
    try:
        return load(step)
    except StopIteration as error:  # of a transform: it would look like the end of the epoch
        raise RuntimeError("StopIteration was raised while a batch was loaded") from error


@atexit.register
def _end_threads() -> None:
    deadline = time.monotonic() + _SECONDS_AT_EXIT
    running = list(_running)
    for shared in running:
        shared.stop()
    for shared in running:
        if shared.changed.acquire(timeout=max(0.0, deadline - time.monotonic())):
            shared.changed.notify_all()
            shared.changed.release()
        for thread in shared.threads:
            thread.join(max(0.0, deadline - time.monotonic()))


class LoadedAhead:
    """The results of `load(step)` for each step, in order, by so many threads, at most `ahead` at a time. An exception is raised where the
    result would be; the iteration is over then. Threads end with the iteration, or when it is dropped or closed.

    `prepare(step)` comes before `load(step)`, in the order of the steps, and in one more thread. What it allocates is then from one arena
    of malloc: of several, each would grow to the most that its thread has ever held."""

    def __init__(
        self, steps: Iterator[Any], load: Callable[[Any], Any], threads: int, ahead: int, prepare: Optional[Callable[[Any], None]] = None
    ) -> None:
        self._shared = _Shared(steps, load, max(ahead, 1), prepare)
        self._process = os.getpid()
        self._stop = weakref.finalize(self, self._shared.stop)
        self._stop.atexit = False
        self._number = 0
        self.threads = [
            threading.Thread(target=self._shared.work, name=f"shale-loader-{number}", daemon=True) for number in range(threads)
        ]
        if threads and prepare is not None:
            self.threads.append(threading.Thread(target=self._shared.work_ahead, name="shale-loader-ahead", daemon=True))
        self._shared.threads = self.threads
        _running.add(self._shared)
        for thread in self.threads:
            thread.start()

    def __iter__(self) -> LoadedAhead:
        return self

    def __next__(self) -> Any:
        if os.getpid() != self._process:
            raise UsageError(
                f"the iteration was begun in process {self._process}, whose threads do not exist after a fork; begin it in this process, "
                "or use torch's DataLoader with shale.torch.StatefulDistributedSampler for processes"
            )
        shared = self._shared
        if not self.threads:
            try:
                step = next(shared.steps)
                if shared.prepare is not None:
                    load_one(shared.prepare, step)
                return load_one(shared.load, step)
            except BaseException:
                self.close()
                raise
        with shared.changed:
            while self._number not in shared.done:
                if shared.is_over and self._number >= shared.planned or not self._stop.alive:
                    self.close()
                    raise StopIteration
                shared.changed.wait(0.5)
            batch, error = shared.done.pop(self._number)
            self._number += 1
            shared.taken += 1
            shared.changed.notify_all()
        if error is not None:
            self.close()
            try:
                raise error
            finally:
                del error  # a cycle of traceback and frame would keep the batch
        return batch

    def is_running_elsewhere(self) -> bool:
        """Whether the threads run in the process that this one was forked from."""
        return self._stop.alive and bool(self.threads) and os.getpid() != self._process

    def close(self) -> None:
        """Threads end after the batch that they are at. Nothing more comes."""
        self._stop()
