#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "shale/io/input_file.hpp"

namespace shale {

/// Memory for reads past the page cache, kept from one read to the next.
class AlignedBuffer {
 public:
  /// At least `bytes` long; its content is undefined.
  [[nodiscard]] std::span<std::byte> require(std::uint64_t bytes) {
    if (bytes > capacity_) {
      bytes_.reset();
      capacity_ = 0;
      bytes_ = std::make_unique_for_overwrite<std::byte[]>(bytes + kDirectAlignment);
      capacity_ = bytes;
    }
    void* begin = bytes_.get();
    std::size_t room = capacity_ + kDirectAlignment;
    return {static_cast<std::byte*>(std::align(kDirectAlignment, bytes, begin, room)), bytes};
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::uint64_t capacity_ = 0;
};

}  // namespace shale
