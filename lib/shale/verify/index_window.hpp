#pragma once

#include <cstdint>
#include <vector>

#include "shale/shards/dataset_reader.hpp"

namespace shale {

/// Rows of an index for several readers that go forward through it, side by side or one after the
/// other: a row is read once for all of them, if none falls behind by more than a MiB of rows.
/// Memory: 2 MiB, or two rows. Not thread-safe: one per task.
class IndexWindow {
 public:
  /// Of a shard that has an index, which open_index() has found to be one; the shard outlives it.
  explicit IndexWindow(const ShardReader& shard);
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  /// Errors, of all: Code::damaged if the file has become shorter; Code::io.
  [[nodiscard]] IndexRow row(std::uint64_t row);
  /// One place of a row, by IndexColumns::position_of.
  [[nodiscard]] FieldPlace place(std::uint64_t row, std::uint64_t position);
  /// The same, for a search: reads these few bytes.
  [[nodiscard]] FieldPlace distant_place(std::uint64_t row, std::uint64_t position);
  /// Where the record of a row begins, where records are whole; for a search, too.
  [[nodiscard]] std::uint64_t distant_record(std::uint64_t row);

 private:
  [[nodiscard]] Bytes bytes_of(std::uint64_t row);
  void read_on(std::uint64_t row);
  void begin_at(std::uint64_t row);
  [[nodiscard]] bool holds(std::uint64_t row) const { return row >= begin_ && row < end_; }
  void read_distant(std::uint64_t row, std::uint64_t position, std::span<std::byte> into) const;

  const InputFile& file_;
  const IndexColumns& columns_;
  std::uint64_t rows_, row_bytes_, place_bytes_;
  bool reads_places_;                  // each by itself
  std::uint64_t begin_ = 0, end_ = 0;  // rows that are held,
  std::vector<std::byte> held_;        // one after the other
  std::vector<std::byte> stray_;       // a row in front of them
  std::uint64_t stray_row_ = ~std::uint64_t{0};
};

}  // namespace shale
