#pragma once

#include <cstdint>

#include "shale/base/bytes.hpp"

namespace shale {

/// Numbers of up to 32 bits in runs: of one number, or of groups of eight that are packed bit by
/// bit. Levels, indices into a dictionary, and booleans are stored so. Bytes are borrowed.
/// Source: apache/parquet-format, Encodings.md, "RLE/Bit-Packing Hybrid".
class HybridRuns {
 public:
  HybridRuns() = default;
  /// `most`: how many numbers there are; a run of more of one number is none.
  HybridRuns(Bytes bytes, unsigned bit_width, std::uint64_t most = ~std::uint64_t{0})
      : bytes_(bytes), width_(bit_width), most_(most) {}

  /// Errors: Code::damaged, without place, where the runs end or are none.
  [[nodiscard]] std::uint32_t next() {
    if (left_ == 0) begin_run();
    --left_;
    return is_packed_ ? unpack() : value_;
  }
  /// Nothing follows, but what fills a packed run: up to eight numbers, of DuckDB up to 256.
  [[nodiscard]] bool may_end() const {
    return position_ == bytes_.size() && (is_packed_ || left_ == 0);
  }

 private:
  void begin_run();
  std::uint32_t unpack();

  Bytes bytes_;
  unsigned width_ = 0;
  std::uint64_t most_ = 0;  // that are in no run yet
  std::uint64_t position_ = 0, left_ = 0;
  std::uint64_t bit_ = 0;  // of a packed run: the next one, counted from its first
  std::uint64_t packed_ = 0, packed_bytes_ = 0;
  std::uint32_t value_ = 0;
  bool is_packed_ = false;
};

/// Bits of the numbers 0 to `most`.
[[nodiscard]] unsigned bit_width_of(std::uint32_t most);

}  // namespace shale
