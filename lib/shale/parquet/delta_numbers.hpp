#pragma once

#include <cstdint>

#include "shale/base/bytes.hpp"

namespace shale {

/// Integers as differences, in blocks of miniblocks that have a bit width each
/// (DELTA_BINARY_PACKED). Bytes are borrowed.
/// Source: apache/parquet-format, Encodings.md, "Delta Encoding".
class DeltaNumbers {
 public:
  DeltaNumbers() = default;
  /// Errors, of all: Code::damaged, without place, where the bytes end or are none of these.
  explicit DeltaNumbers(Bytes bytes);

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::int64_t next();
  /// Where the bytes end, once all numbers were taken.
  [[nodiscard]] std::uint64_t end() const { return position_; }

 private:
  void begin_block();
  std::uint64_t delta();

  Bytes bytes_;
  std::uint64_t position_ = 0;
  std::uint64_t count_ = 0, left_ = 0;
  std::uint64_t per_miniblock_ = 0, miniblocks_ = 0;
  std::uint64_t value_ = 0, least_ = 0;
  Bytes widths_;
  std::uint64_t miniblock_ = 0, in_miniblock_ = 0;  // of this block, of this miniblock
  std::uint64_t begin_ = 0;                         // of this miniblock
  bool is_first_ = true;
};

}  // namespace shale
