#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "shale/flow/permutation.hpp"

namespace shale {

/// A row of a sample of rows, and how early it was drawn: the first k that were drawn are a sample,
/// too.
struct DrawnRow {
  std::uint64_t row = 0, position = 0;
};

/// All rows, or so many of them, drawn: a function of the three numbers alone. Memory: 16 bytes a
/// row, 16 MiB at most.
class SampleRows {
 public:
  /// Rows that are looked at together.
  static constexpr std::size_t kAtOnce = 64;

  /// `wanted` 0, or as many as there are: all.
  SampleRows(std::uint64_t rows, std::uint64_t wanted, std::uint64_t seed);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] bool is_all() const { return size_ == rows_; }
  /// Hands them out in ascending order, kAtOnce at a time: always the same together.
  void for_each(const std::function<void(std::vector<DrawnRow>)>& use) const;
  /// The first `count` drawn, in the order of the draw.
  [[nodiscard]] std::vector<std::uint64_t> first(std::uint64_t count) const;
  /// Replaces each row by its position in the order of the draw, whether it was drawn or not.
  void positions_of(std::span<std::uint64_t> rows) const;

 private:
  std::uint64_t rows_, size_;
  Permutation order_;
};

}  // namespace shale
