#pragma once

#include <cstdint>
#include <memory>

#include "shale/base/bytes.hpp"

namespace shale {

/// A few file writes running in the background, through a private io_uring ring (no thread of
/// ours). Used by the thread that made it. The bytes are borrowed until wait() has named their
/// slot. The destructor waits for all of them.
class BackgroundWriter {
 public:
  /// At most `slots` writes at once. Never fails: where io_uring is refused, submit() says so.
  explicit BackgroundWriter(std::uint32_t slots);
  ~BackgroundWriter();
  BackgroundWriter(const BackgroundWriter&) = delete;
  BackgroundWriter& operator=(const BackgroundWriter&) = delete;

  /// Starts a write; `slot` is the caller's name for it. False: io_uring is refused, nothing was
  /// started.
  [[nodiscard]] bool submit(std::uint32_t slot, int descriptor, Bytes bytes, std::uint64_t offset);

  struct Outcome {
    std::uint32_t slot;
    std::int64_t result;  ///< bytes written, or minus an errno
    /// 0, or the errno.
    [[nodiscard]] int error() const { return result < 0 ? static_cast<int>(-result) : 0; }
  };
  /// Waits for one of the writes under way; call only if there is one. Errors: Code::io if the
  /// ring is broken.
  [[nodiscard]] Outcome wait();

 private:
  struct Ring;

  std::unique_ptr<Ring> ring_;  // null: refused from the start
  std::uint32_t in_flight_ = 0;
  bool refused_ = false;  // an entry could not be submitted; writes under way are still waited for
};

}  // namespace shale
