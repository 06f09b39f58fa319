#include "shale/io/batch_reader.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <liburing.h>
#include <unistd.h>

#include "shale/base/error.hpp"
#include "shale/io/ring_worker.hpp"
#include "shale/io/storage_retry.hpp"

namespace shale {
namespace {

constexpr int kOpenFlags = O_RDONLY | O_CLOEXEC | O_NOCTTY;
constexpr std::uint32_t kDeepest = 4096;
// A read's length is 32 bits wide in the ring; what is left of a longer one is read plainly.
constexpr std::uint64_t kLongestRead = std::uint64_t{1} << 30;

/// What is left of the pieces behind so many bytes.
std::vector<iovec> pieces_behind(std::span<const iovec> pieces, std::uint64_t bytes) {
  std::vector<iovec> left;
  left.reserve(pieces.size());
  for (const iovec& piece : pieces) {
    const std::uint64_t done = std::min<std::uint64_t>(bytes, piece.iov_len);
    bytes -= done;
    if (done < piece.iov_len)
      left.push_back({static_cast<std::byte*>(piece.iov_base) + done, piece.iov_len - done});
  }
  return left;
}

ssize_t read_once(int descriptor, const ReadRequest& request, std::uint64_t done) {
  const auto offset = static_cast<off_t>(request.offset + done);
  if (request.pieces.empty())
    return ::pread(descriptor, request.into.data() + done, request.into.size() - done, offset);
  const std::vector<iovec> left = pieces_behind(request.pieces, done);
  return ::preadv(descriptor, left.data(), static_cast<int>(left.size()), offset);
}

/// Reads what `result` still lacks with plain system calls, to the end of the file or an error.
void read_rest(const ReadRequest& request, ReadResult& result) {
  result.error = 0;
  int descriptor = request.descriptor;
  if (request.path != nullptr) {
    descriptor = uninterrupted([&] { return ::open(request.path, kOpenFlags); });
    if (descriptor < 0) {
      result.error = errno;
      return;
    }
  }
  bool at_end = false;
  while (!at_end && result.error == 0) {
    const ssize_t got = uninterrupted([&] { return read_once(descriptor, request, result.bytes); });
    if (got < 0) result.error = errno;
    if (got > 0) result.bytes += static_cast<std::uint64_t>(got);
    at_end = got == 0 || result.bytes == request.size();
  }
  if (request.path != nullptr) ::close(descriptor);
}

FaultPlace place_of(const ReadRequest& request) {
  return request.path != nullptr ? FaultPlace(request.path) : FaultPlace(request.descriptor);
}

/// Repeats the reads that ended with a hiccup, all of them after each wait, so that a batch waits
/// no longer than a single read would. What fails in the last round fails the batch: the others
/// that are left need not be asked any more.
void repeat_hiccups(std::span<const ReadRequest> requests, std::span<ReadResult> results) {
  Backoff backoff;
  const auto has_hiccup = [](const ReadResult& result) { return is_hiccup(result.error); };
  while (std::any_of(results.begin(), results.end(), has_hiccup) && backoff.wait()) {
    for (std::size_t index = 0; index < results.size(); ++index) {
      if (!has_hiccup(results[index])) continue;
      count_retry(place_of(requests[index]), results[index].error);
      read_rest(requests[index], results[index]);
      if (backoff.is_last() && has_hiccup(results[index])) return;
    }
  }
}

/// The ring: a file is three linked entries, open into a slot of the ring's own table, read, close.
class Ring {
 public:
  explicit Ring(std::uint32_t depth);
  ~Ring() {
    if (is_made_) ::io_uring_queue_exit(&uring_);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;

  /// 0, or the errno with which the kernel refused what is needed.
  [[nodiscard]] int refusal() const { return refusal_; }
  /// False if requests of this thread may never be answered: then the ring is of no more use.
  [[nodiscard]] bool serves_this_thread() { return ring_worker_refusal(uring_) == 0; }
  void read(std::span<const ReadRequest> requests, std::span<ReadResult> results);

 private:
  enum Step : std::uint64_t { kOpen, kRead, kClose, kSteps };
  struct Slot {
    std::size_t request = 0;
    int completions_due = 0;
  };

  [[nodiscard]] int try_chain();
  void queue_file(std::uint32_t slot, const char* path, std::span<std::byte> into,
                  std::uint64_t offset);
  void queue_extent(std::uint32_t slot, const ReadRequest& request);
  void start(std::size_t index, const ReadRequest& request);
  void submit_and_wait();

  io_uring uring_{};
  bool is_made_ = false;
  int refusal_ = 0;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_slots_;
};

Ring::Ring(std::uint32_t depth) : slots_(depth) {
  for (std::uint32_t slot = depth; slot > 0; --slot) free_slots_.push_back(slot - 1);
  // Completions are only looked for when they are waited for: no need to interrupt this thread for
  // each (Linux 5.19).
  refusal_ = -::io_uring_queue_init(depth * kSteps, &uring_, IORING_SETUP_COOP_TASKRUN);
  if (refusal_ == EINVAL) refusal_ = -::io_uring_queue_init(depth * kSteps, &uring_, 0);
  if (refusal_ != 0) return;
  is_made_ = true;
  const std::vector<int> empty_table(depth, -1);
  refusal_ = -::io_uring_register_files(&uring_, empty_table.data(), depth);
  if (refusal_ == 0) refusal_ = ring_worker_refusal(uring_);
  if (refusal_ == 0) refusal_ = try_chain();
}

/// Runs one chain on "/". Linux 5.15 to 5.17 know all its operations, but look the slot up when the
/// chain is submitted, before the open has filled it: there the read fails with EBADF, and not, as
/// it must, with EISDIR.
int Ring::try_chain() {
  std::array<std::byte, 8> byte;
  queue_file(0, "/", byte, 0);
  submit_and_wait();
  std::array<int, kSteps> results{};
  for (std::uint64_t seen = 0; seen < kSteps; ++seen) {
    io_uring_cqe* completion = nullptr;
    int error = 0;
    do {
      error = -::io_uring_wait_cqe(&uring_, &completion);
    } while (error == EINTR || error == EAGAIN);
    if (error != 0) return error;
    results[::io_uring_cqe_get_data64(completion) % kSteps] = completion->res;
    ::io_uring_cqe_seen(&uring_, completion);
  }
  if (results[kOpen] > 0)
    ::close(results[kOpen]);  // a kernel before 5.15 opened it for the whole process
  if (results[kOpen] != 0) return results[kOpen] < 0 ? -results[kOpen] : ENOSYS;
  if (results[kRead] != -EISDIR) return results[kRead] < 0 ? -results[kRead] : ENOSYS;
  return -results[kClose];
}

void Ring::queue_file(std::uint32_t slot, const char* path, std::span<std::byte> into,
                      std::uint64_t offset) {
  // A failed open ends the chain (link), whatever comes of the read the close must run (hard link):
  // the read is short at the end of every file, and a slot that is not closed is lost.
  io_uring_sqe* open = ::io_uring_get_sqe(&uring_);
  ::io_uring_prep_openat_direct(open, AT_FDCWD, path, O_RDONLY | O_NOCTTY, 0, slot);
  ::io_uring_sqe_set_flags(open, IOSQE_IO_LINK);
  ::io_uring_sqe_set_data64(open, slot * kSteps + kOpen);

  io_uring_sqe* read = ::io_uring_get_sqe(&uring_);
  ::io_uring_prep_read(read, static_cast<int>(slot), into.data(),
                       static_cast<unsigned>(std::min<std::uint64_t>(into.size(), kLongestRead)),
                       offset);
  ::io_uring_sqe_set_flags(read, IOSQE_FIXED_FILE | IOSQE_IO_HARDLINK);
  ::io_uring_sqe_set_data64(read, slot * kSteps + kRead);

  io_uring_sqe* close = ::io_uring_get_sqe(&uring_);
  ::io_uring_prep_close_direct(close, slot);
  ::io_uring_sqe_set_data64(close, slot * kSteps + kClose);
}

void Ring::queue_extent(std::uint32_t slot, const ReadRequest& request) {
  io_uring_sqe* read = ::io_uring_get_sqe(&uring_);
  if (request.pieces.empty()) {
    ::io_uring_prep_read(
        read, request.descriptor, request.into.data(),
        static_cast<unsigned>(std::min<std::uint64_t>(request.into.size(), kLongestRead)),
        request.offset);
  } else {
    ::io_uring_prep_readv(read, request.descriptor, request.pieces.data(),
                          static_cast<unsigned>(request.pieces.size()), request.offset);
  }
  ::io_uring_sqe_set_data64(read, slot * kSteps + kRead);
}

void Ring::start(std::size_t index, const ReadRequest& request) {
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  if (request.path != nullptr) {
    slots_[slot] = {index, kSteps};
    queue_file(slot, request.path, request.into, request.offset);
  } else {
    slots_[slot] = {index, 1};
    queue_extent(slot, request);
  }
}

void Ring::submit_and_wait() {
  // The kernel may take fewer than all, for want of memory. What it leaves must not stay: the next
  // chains need the space.
  do {
    const int submitted = ::io_uring_submit_and_wait(&uring_, 1);
    const bool can_try_again = submitted == -EINTR || submitted == -EAGAIN || submitted == -EBUSY;
    if (submitted < 0 && !can_try_again)
      throw Error(Code::io, "io_uring lost a batch of reads").because_errno(-submitted);
  } while (::io_uring_sq_ready(&uring_) > 0);
}

/// True if nothing more can be had from the file: all bytes are there, or too few to be anything
/// but its end. After an error a plain call has the last word: the kernel may have been out of
/// memory, or have taken a chain in two pieces, whose second one found no open file.
bool is_final(const ReadRequest& request, const ReadResult& result) {
  if (result.error != 0) return false;
  const std::uint64_t missing = request.size() - result.bytes;
  return request.path != nullptr ? missing <= 1 : missing == 0 || result.bytes == 0;
}

void Ring::read(std::span<const ReadRequest> requests, std::span<ReadResult> results) {
  std::size_t started = 0;
  std::size_t settled = 0;
  while (settled < requests.size()) {
    // The submission queue has room for a chain in every slot, so no chain is ever split by a
    // submit.
    while (started < requests.size() && !free_slots_.empty()) {
      start(started, requests[started]);
      ++started;
    }
    submit_and_wait();

    unsigned head = 0;
    unsigned seen = 0;
    io_uring_cqe* completion = nullptr;
    io_uring_for_each_cqe(&uring_, head, completion) {
      ++seen;
      const std::uint64_t tag = ::io_uring_cqe_get_data64(completion);
      const auto slot = static_cast<std::uint32_t>(tag / kSteps);
      ReadResult& result = results[slots_[slot].request];
      if (tag % kSteps != kClose) {
        // After a failed open the read is "cancelled": the open's errno is the one that says why.
        if (completion->res < 0 && result.error == 0) result.error = -completion->res;
        if (completion->res > 0) result.bytes = static_cast<std::uint64_t>(completion->res);
      }
      if (--slots_[slot].completions_due == 0) free_slots_.push_back(slot);
      if (slots_[slot].completions_due == 0) ++settled;
    }
    ::io_uring_cq_advance(&uring_, seen);
  }
  for (std::size_t index = 0; index < requests.size(); ++index) {
    if (is_final(requests[index], results[index])) continue;
    if (is_hiccup(results[index].error))
      count_retry(place_of(requests[index]), results[index].error);
    read_rest(requests[index], results[index]);
  }
}

/// The fallback: threads that share a batch with the caller.
class ReaderThreads {
 public:
  explicit ReaderThreads(std::uint32_t threads) {
    for (std::uint32_t helper = 1; helper < threads; ++helper) {
      try {
        helpers_.emplace_back([this](const std::stop_token& stop) { help(stop); });
      } catch (const std::system_error&) {
        break;  // a limit on threads: fewer do as well
      }
    }
  }

  void read(std::span<const ReadRequest> requests, std::span<ReadResult> results) {
    {
      const std::lock_guard lock(mutex_);
      requests_ = requests;
      results_ = results;
      next_ = 0;
      if (requests.size() > 1) {
        ++batch_;
        busy_ = helpers_.size();
      }
    }
    if (requests.size() > 1) wake_.notify_all();
    work();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
  }

 private:
  void help(const std::stop_token& stop) {
    std::uint64_t last_batch = 0;
    std::unique_lock lock(mutex_);
    while (wake_.wait(lock, stop, [&] { return batch_ != last_batch; })) {
      last_batch = batch_;
      lock.unlock();
      work();
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  void work() {
    for (std::size_t index = next_++; index < requests_.size(); index = next_++) {
      read_rest(requests_[index], results_[index]);
    }
  }

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::condition_variable done_;
  std::span<const ReadRequest> requests_;
  std::span<ReadResult> results_;
  std::uint64_t batch_ = 0;
  std::size_t busy_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::vector<std::jthread> helpers_;  // last: they are joined before what they use goes
};

}  // namespace

std::uint64_t ReadRequest::size() const {
  std::uint64_t bytes = into.size();
  for (const iovec& piece : pieces) bytes += piece.iov_len;
  return bytes;
}

struct BatchReader::Impl {
  Options options;
  std::unique_ptr<Ring> ring;  // one of the two
  std::unique_ptr<ReaderThreads> threads;

  void use_threads() {
    ring.reset();
    threads = std::make_unique<ReaderThreads>(options.threads);
  }
};

BatchReader::BatchReader(const Options& options)
    : impl_(std::make_unique<Impl>(Impl{options, nullptr, nullptr})) {
  if (options.backend != Backend::threads) {
    impl_->ring = std::make_unique<Ring>(std::clamp(options.depth, 1U, kDeepest));
    const int refusal = impl_->ring->refusal();
    if (refusal == 0) return;
    if (options.backend == Backend::io_uring) {
      throw Error(Code::unsupported, "io_uring is refused by this system").because_errno(refusal);
    }
  }
  impl_->use_threads();
}
BatchReader::~BatchReader() = default;
BatchReader::BatchReader(BatchReader&&) noexcept = default;
BatchReader& BatchReader::operator=(BatchReader&&) noexcept = default;

std::vector<ReadResult> BatchReader::read(std::span<const ReadRequest> requests) {
  std::vector<ReadResult> results(requests.size());
  if (impl_->ring && !impl_->ring->serves_this_thread()) impl_->use_threads();
  if (impl_->ring) {
    impl_->ring->read(requests, results);
  } else {
    impl_->threads->read(requests, results);
  }
  repeat_hiccups(requests, results);
  return results;
}

BatchReader::Backend BatchReader::backend() const {
  return impl_->ring ? Backend::io_uring : Backend::threads;
}

}  // namespace shale
