#include "shale/io/storage_retry.hpp"

#include <algorithm>
#include <ctime>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/io/safe_descriptor.hpp"

namespace shale {
namespace {

constexpr std::size_t kNamedFiles = 16;
constexpr int kMostTries = 1000;

struct RetriedFile {
  std::string path;
  std::uint64_t times = 0;
  int error_number = 0;
};

/// Of the process, as the storage is: what reads and writes knows nobody to tell it to.
struct RetryTally {
  std::mutex mutex;
  std::vector<RetriedFile> files;
  std::uint64_t elsewhere = 0;

  /// Not held: another thread has it, or had it in the process that forked this one.
  [[nodiscard]] std::unique_lock<std::mutex> try_lock() {
    std::unique_lock lock(mutex, std::try_to_lock);
    for (int tries = 0; !lock.owns_lock() && tries < kMostTries; ++tries) {
      std::this_thread::yield();
      (void)lock.try_lock();
    }
    return lock;
  }
};

RetryTally& tally_of_process() {
  static RetryTally tally;
  return tally;
}

}  // namespace

bool Backoff::wait() noexcept {
  if (next_ == kWaits.size()) return false;
  const std::chrono::nanoseconds wait = kWaits[next_++];
  const timespec duration{.tv_sec = wait.count() / 1'000'000'000,
                          .tv_nsec = wait.count() % 1'000'000'000};
  (void)::nanosleep(&duration, nullptr);
  return true;
}

std::string FaultPlace::path() const { return path_ != nullptr ? path_ : path_of(descriptor_); }

bool StorageRetry::again(int error_number) noexcept {
  const bool is_repeated = error_number == EINTR || (is_hiccup(error_number) && backoff_.wait());
  if (is_repeated && error_number != EINTR) count_retry(place_, error_number);
  errno = error_number;
  return is_repeated;
}

void count_retry(const FaultPlace& place, int error_number) noexcept try {
  RetryTally& tally = tally_of_process();
  const std::string path = place.path();
  const auto lock = tally.try_lock();
  if (!lock.owns_lock()) return;
  auto found = std::find_if(tally.files.begin(), tally.files.end(),
                            [&](const RetriedFile& file) { return file.path == path; });
  if (found == tally.files.end()) {
    if (tally.files.size() == kNamedFiles) {
      ++tally.elsewhere;
      return;
    }
    found = tally.files.insert(found, {.path = path});
  }
  ++found->times;
  found->error_number = error_number;
} catch (...) {
  return;  // no memory for a note: the run goes on without it
}

std::vector<std::string> take_retry_notes() {
  RetryTally& tally = tally_of_process();
  std::vector<RetriedFile> files;
  std::uint64_t elsewhere = 0;
  if (const auto lock = tally.try_lock(); lock.owns_lock()) {
    files.swap(tally.files);
    elsewhere = std::exchange(tally.elsewhere, 0);
  }
  std::vector<std::string> notes;
  notes.reserve(files.size() + 1);
  for (const RetriedFile& file : files) {
    notes.push_back(fmt::format("{}: retried {} after a storage fault ({})", printable(file.path),
                                format_counted(file.times, "time", "times"),
                                std::generic_category().message(file.error_number)));
  }
  if (elsewhere > 0) {
    notes.push_back(
        fmt::format("{} in other files", format_counted(elsewhere, "more retry", "more retries")));
  }
  return notes;
}

}  // namespace shale
