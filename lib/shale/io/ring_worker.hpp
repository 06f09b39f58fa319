#pragma once

struct io_uring;

namespace shale {

/// 0 if requests of this thread that cannot be answered at once will be answered: the kernel has
/// made the worker thread that it hands them to. Else an errno, and the ring must not be used any
/// more. Where the user may have no more threads (ulimit -u, a cgroup's pids.max) the kernel takes
/// such requests and tries for ever to make that thread. Asked once in each thread, as workers
/// belong to the thread that submits, and the last of them stays as long as it does.
[[nodiscard]] int ring_worker_refusal(io_uring& ring);

}  // namespace shale
