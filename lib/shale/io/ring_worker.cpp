#include "shale/io/ring_worker.hpp"

#include <cerrno>

#include <liburing.h>
#include <sys/resource.h>
#include <unistd.h>

namespace shale {
namespace {

// A worker is there within microseconds. On a machine so busy that it takes longer than this,
// reading without the ring costs little more, and gives the same results.
constexpr long kWaitSeconds = 1;

int ask_for_worker(io_uring& ring) {
  // For root, whom the limit does not bind, the kernel makes a worker, but none for what may block.
  rlimit threads{};
  if (::getrlimit(RLIMIT_NPROC, &threads) == 0 && threads.rlim_cur == 0) return EAGAIN;
  io_uring_sqe* entry = ::io_uring_get_sqe(&ring);
  if (entry == nullptr) return EBUSY;
  ::io_uring_prep_nop(entry);
  ::io_uring_sqe_set_flags(entry, IOSQE_ASYNC);  // not in this thread
  int submitted = 0;
  do {
    submitted = ::io_uring_submit(&ring);
  } while (submitted == -EINTR || submitted == -EAGAIN);
  if (submitted != 1) return submitted < 0 ? -submitted : EBUSY;
  __kernel_timespec patience{kWaitSeconds, 0};
  io_uring_cqe* completion = nullptr;
  int error = 0;
  do {
    error = -::io_uring_wait_cqe_timeout(&ring, &completion, &patience);
  } while (error == EINTR || error == EAGAIN);
  if (error != 0) return error;
  const int result = completion->res;  // newer kernels give up, and cancel
  ::io_uring_cqe_seen(&ring, completion);
  return -result;
}

}  // namespace

int ring_worker_refusal(io_uring& ring) {
  // Of this thread, as the worker is; a forked child has the verdict, but not the worker.
  struct Verdict {
    pid_t process = 0;
    int refusal = 0;
  };
  static thread_local Verdict verdict;
  if (verdict.process != ::getpid()) {
    verdict.refusal = ask_for_worker(ring);
    verdict.process = ::getpid();
  }
  return verdict.refusal;
}

}  // namespace shale
