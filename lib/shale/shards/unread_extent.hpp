#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "shale/base/unread_bytes.hpp"

namespace shale {

/// Bytes of an open file.
class UnreadExtent final : public UnreadBytes {
 public:
  struct Place {
    int descriptor = -1;
    std::uint64_t offset = 0, bytes = 0;
    std::optional<std::uint32_t> crc32c = {};  ///< that they had when they were written, if known
    std::shared_ptr<const void> keeps_open = nullptr;  ///< what the descriptor belongs to
  };
  /// `step` (may be null) comes before each read, in whichever thread reads; it may throw, to stop.
  UnreadExtent(Place place, std::function<void()> step);

  /// Errors: Code::damaged if the file ends before; Code::io.
  void read(std::uint64_t offset, std::span<std::byte> into) const override;

 protected:
  /// Code::damaged, or Code::io for bytes that had no checksum when they were written.
  [[nodiscard]] Error wrong_checksum(std::uint32_t found, std::uint32_t expected) const override;

 private:
  Place place_;
  std::function<void()> step_;
};

/// The error for bytes that changed between two reads of them; place and hint are the caller's.
[[nodiscard]] Error changed_between_reads(std::uint64_t bytes);

}  // namespace shale
