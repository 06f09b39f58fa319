#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

#include "shale/base/bytes.hpp"

namespace shale {

/// Integers at given offsets of untrusted bytes. What lies beyond the end reads as zero, so that no
/// input needs an exception: a dataset may hold a million truncated images, and a throw costs more
/// than a whole probe. Whether a place exists is asked with has(). The bytes are borrowed. Errors:
/// none.
class HeaderView {
 public:
  explicit HeaderView(Bytes bytes, std::endian order = std::endian::little)
      : bytes_(bytes), order_(order) {}

  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] bool has(std::uint64_t offset, std::uint64_t count) const {
    return offset <= size() && count <= size() - offset;
  }
  [[nodiscard]] std::uint8_t u8(std::uint64_t offset) const {
    return offset < size() ? static_cast<std::uint8_t>(bytes_[offset]) : std::uint8_t{0};
  }
  [[nodiscard]] std::uint16_t u16(std::uint64_t offset) const {
    return static_cast<std::uint16_t>(number(offset, 2));
  }
  [[nodiscard]] std::uint32_t u24(std::uint64_t offset) const {
    return static_cast<std::uint32_t>(number(offset, 3));
  }
  [[nodiscard]] std::uint32_t u32(std::uint64_t offset) const {
    return static_cast<std::uint32_t>(number(offset, 4));
  }
  [[nodiscard]] std::uint64_t u64(std::uint64_t offset) const { return number(offset, 8); }

  /// True if `text` is at `offset`.
  [[nodiscard]] bool holds(std::uint64_t offset, std::string_view text) const {
    return has(offset, text.size()) && as_text(bytes_.subspan(offset, text.size())) == text;
  }
  /// The bytes from `offset` on, at most `count`; none beyond the end.
  [[nodiscard]] Bytes run(std::uint64_t offset,
                          std::uint64_t count = std::numeric_limits<std::uint64_t>::max()) const {
    if (offset >= size()) return {};
    return bytes_.subspan(offset, count < size() - offset ? count : size() - offset);
  }

 private:
  [[nodiscard]] std::uint64_t number(std::uint64_t offset, unsigned width) const {
    if (!has(offset, width)) return 0;
    std::uint64_t value = 0;
    for (unsigned i = 0; i < width; ++i) {
      const unsigned nth = order_ == std::endian::big ? i : width - 1 - i;
      value = value << 8 | static_cast<std::uint8_t>(bytes_[offset + nth]);
    }
    return value;
  }

  Bytes bytes_;
  std::endian order_;
};

/// a + b and a * b, or the largest number where that does not fit: sizes that a header claims.
[[nodiscard]] inline std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) {
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}
[[nodiscard]] inline std::uint64_t capped_product(std::uint64_t a, std::uint64_t b) {
  std::uint64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::uint64_t>::max()
                                                : product;
}

}  // namespace shale
