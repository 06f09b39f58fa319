#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
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
      const std::uint64_t whole =
          (bytes + kDirectAlignment - 1) / kDirectAlignment * kDirectAlignment;
      bytes_.reset(static_cast<std::byte*>(std::aligned_alloc(kDirectAlignment, whole)));
      if (bytes_ == nullptr) throw std::bad_alloc();
      capacity_ = bytes;
    }
    return {bytes_.get(), bytes};
  }

 private:
  struct Free {
    void operator()(std::byte* bytes) const { std::free(bytes); }
  };
  std::unique_ptr<std::byte, Free> bytes_;
  std::uint64_t capacity_ = 0;
};

}  // namespace shale
