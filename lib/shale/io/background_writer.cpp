#include "shale/io/background_writer.hpp"

#include <algorithm>
#include <cerrno>

#include <liburing.h>

#include "shale/base/error.hpp"
#include "shale/io/ring_worker.hpp"

namespace shale {

struct BackgroundWriter::Ring {
  io_uring uring{};

  /// 0, or the errno of a ring that cannot be waited on.
  int wait(io_uring_cqe** completion) {
    int error = 0;
    do {
      error = -::io_uring_wait_cqe(&uring, completion);
    } while (error == EINTR || error == EAGAIN);
    return error;
  }
};

BackgroundWriter::BackgroundWriter(std::uint32_t slots) : ring_(std::make_unique<Ring>()) {
  // Whatever the reason for a refusal (EPERM or ENOSYS in sandboxes, ENOMEM under old memlock
  // limits, no thread left for the kernel's worker), plain writes work.
  const bool is_made = ::io_uring_queue_init(std::max(slots, 1U), &ring_->uring, 0) == 0;
  if (is_made && ring_worker_refusal(ring_->uring) == 0) return;
  if (is_made) ::io_uring_queue_exit(&ring_->uring);
  ring_.reset();
}

BackgroundWriter::~BackgroundWriter() {
  if (!ring_) return;
  // The kernel may still read from the borrowed buffers: they must not go before the writes are
  // done.
  io_uring_cqe* completion = nullptr;
  while (in_flight_ > 0 && ring_->wait(&completion) == 0) {
    ::io_uring_cqe_seen(&ring_->uring, completion);
    --in_flight_;
  }
  ::io_uring_queue_exit(&ring_->uring);
}

bool BackgroundWriter::submit(std::uint32_t slot, int descriptor, Bytes bytes,
                              std::uint64_t offset) {
  if (!ring_ || refused_) return false;
  io_uring_sqe* entry = ::io_uring_get_sqe(&ring_->uring);
  if (entry == nullptr) return false;
  ::io_uring_prep_write(entry, descriptor, bytes.data(), static_cast<unsigned>(bytes.size()),
                        offset);
  ::io_uring_sqe_set_data64(entry, slot);
  int submitted = 0;
  do {
    submitted = ::io_uring_submit(&ring_->uring);
  } while (submitted == -EINTR || submitted == -EAGAIN);
  if (submitted == 1) {
    ++in_flight_;
    return true;
  }
  // The entry is in the queue but not taken: it must never be submitted later, when its buffer
  // holds other bytes.
  refused_ = true;
  return false;
}

BackgroundWriter::Outcome BackgroundWriter::wait() {
  io_uring_cqe* completion = nullptr;
  if (const int error = ring_->wait(&completion); error != 0) {
    throw Error(Code::io, "io_uring lost {} writes", in_flight_).because_errno(error);
  }
  const Outcome outcome{static_cast<std::uint32_t>(::io_uring_cqe_get_data64(completion)),
                        completion->res};
  ::io_uring_cqe_seen(&ring_->uring, completion);
  --in_flight_;
  return outcome;
}

}  // namespace shale
