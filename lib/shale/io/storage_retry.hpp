#pragma once

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// What flaky storage (a network file system, a disk on its way out) answers in one moment and not
/// in the next: EIO, ESTALE, EAGAIN. Such a call is worth a repetition.
[[nodiscard]] constexpr bool is_hiccup(int error_number) {
  return error_number == EIO || error_number == ESTALE || error_number == EAGAIN;
}

/// The waits between repetitions: three, then the error stands.
class Backoff {
 public:
  /// Waits, and returns true; false after the last repetition. A signal ends the wait early: who is
  /// asked to stop does not sit here.
  [[nodiscard]] bool wait() noexcept;
  /// One repetition is left.
  [[nodiscard]] bool is_last() const { return next_ == kWaits.size(); }

 private:
  static constexpr std::array kWaits{std::chrono::milliseconds(50), std::chrono::milliseconds(200),
                                     std::chrono::milliseconds(800)};
  std::size_t next_ = 0;
};

/// A file, by path or by descriptor: for the note about what was repeated.
class FaultPlace {
 public:
  FaultPlace(const char* path) : path_(path) {}  // NOLINT(google-explicit-constructor)
  FaultPlace(const std::string& path)
      : path_(path.c_str()) {}                             // NOLINT(google-explicit-constructor)
  FaultPlace(int descriptor) : descriptor_(descriptor) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] std::string path() const;

 private:
  const char* path_ = nullptr;  // borrowed
  int descriptor_ = -1;
};

/// Decides about one call to the storage, as often as it fails: EINTR is repeated at once and
/// always, hiccups as Backoff has it, anything else stands.
class StorageRetry {
 public:
  explicit StorageRetry(const FaultPlace& place) : place_(place) {}
  /// True: make the call again. errno is `error_number` afterwards.
  [[nodiscard]] bool again(int error_number) noexcept;

 private:
  FaultPlace place_;
  Backoff backoff_;
};

/// Makes a call that returns a negative number and sets errno where it fails, with StorageRetry.
/// For what may be done twice: reads, stats, opens (each one looks the path up again, which is what
/// helps against ESTALE), pwrite of the same bytes to the same place. Not for fsync: the kernel
/// reports pages that it could not write once, and then counts them as clean, so that a second
/// fsync succeeds without them. Not for renames, whose first attempt may have reached the server.
template <class Call>
auto retried(const FaultPlace& place, const Call& call) -> decltype(call()) {
  StorageRetry retry(place);
  for (;;) {
    const auto result = call();
    if (result >= 0 || !retry.again(errno)) return result;
  }
}

/// The same for what must not be done twice but for EINTR, which says that nothing was done.
template <class Call>
auto uninterrupted(const Call& call) -> decltype(call()) {
  for (;;) {
    const auto result = call();
    if (result >= 0 || errno != EINTR) return result;
  }
}

/// Remembers a repetition for take_retry_notes. Never blocks for long, never fails.
void count_retry(const FaultPlace& place, int error_number) noexcept;

/// A sentence for each file (of the first 16) whose calls were repeated since the last call, by
/// anybody in this process.
[[nodiscard]] std::vector<std::string> take_retry_notes();

}  // namespace shale
