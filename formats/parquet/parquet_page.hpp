#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/parquet/parquet_writing.hpp"

#include "formats/parquet/parquet_plan.hpp"

namespace shale {

/// One row of a column as levels: absent, a list of so many elements, or a value.
struct RowLevels {
  bool is_absent = false;
  std::uint64_t elements = 1;  ///< of a list; of a list of lists: inner ones
};

/// The levels of a page, row by row.
class PageLevels {
 public:
  explicit PageLevels(const ParquetLeaf& leaf) : leaf_(&leaf) {}
  void add(const RowLevels& row);
  void clear();
  [[nodiscard]] std::uint64_t slots() const { return slots_; }
  [[nodiscard]] std::uint64_t nulls() const { return nulls_; }
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// As they lie in front of the values.
  [[nodiscard]] std::vector<std::byte> bytes() const;

 private:
  const ParquetLeaf* leaf_;
  LevelRuns repetition_, definition_;
  std::uint64_t slots_ = 0, nulls_ = 0, rows_ = 0;
};

/// The least and the greatest of the values of a page or a chunk.
class ValueBounds {
 public:
  void add(const ParquetLeaf& leaf, const IndexCell& number);
  void add(Bytes key);
  void add(const ValueBounds& other);
  /// A value was there that no bounds can hold: a NaN, a long key.
  [[nodiscard]] bool are_unknown() const { return are_unknown_; }
  /// As they are stored; nullopt if there was no value, or they are unknown.
  [[nodiscard]] std::optional<WrittenBounds> stored(const ParquetLeaf& leaf) const;

 private:
  using Bound = std::variant<std::int64_t, double, std::string>;
  void add(Bound value);

  bool are_unknown_ = false;
  std::optional<std::pair<Bound, Bound>> least_and_greatest_;
};

/// Facts of a page for the end of the file.
[[nodiscard]] WrittenPage page_facts(const ParquetLeaf& leaf, const PageLevels& levels,
                                     const ValueBounds& bounds, std::uint64_t first_row);
/// Adds what a chunk says of its pages, whose bounds are these together.
void finish_chunk(const ParquetLeaf& leaf, const ValueBounds& bounds, WrittenChunk& chunk);

}  // namespace shale
