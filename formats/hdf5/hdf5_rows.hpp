#pragma once

#include <cstdint>
#include <optional>

#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"

#include "formats/hdf5/hdf5_description.hpp"

namespace shale {

/// The rows of one dataset of a described file: their positions, and their numbers. The
/// dataset and the file outlive it. Not thread-safe; ascending rows are fastest.
class Hdf5Rows {
 public:
  Hdf5Rows(const Hdf5Dataset& dataset, const InputFile& file)
      : dataset_(&dataset),
        row_bytes_(dataset.row_bytes()),
        per_chunk_(dataset.rows_per_chunk()),
        window_(file, kWindowBytes) {}

  [[nodiscard]] const Hdf5Dataset& dataset() const { return *dataset_; }
  [[nodiscard]] std::uint64_t count() const { return dataset_->shape[0]; }
  [[nodiscard]] std::uint64_t row_bytes() const { return row_bytes_; }

  /// Where `rows` rows from `first` on lie, if they lie in one piece; nothing if they do not, or
  /// are not there. `first + rows` is at most count(), `rows` at least 1.
  [[nodiscard]] std::optional<std::uint64_t> locate(std::uint64_t first, std::uint64_t rows = 1);
  /// Whether the row was ever written.
  [[nodiscard]] bool exists(std::uint64_t row) { return run_of(row) != nullptr; }

  /// The bytes of a row that exists; valid until the next call. Errors: Code::damaged, Code::io.
  [[nodiscard]] Bytes bytes(std::uint64_t row);
  /// A number that exists, of an integer dataset; uint64 above 2^63 as its negative twin. Errors:
  /// same as bytes().
  [[nodiscard]] std::int64_t integer(std::uint64_t row);
  /// A number that exists; `field` is the integer or real that the dataset is. Errors: same as
  /// bytes(); Code::damaged for a bool that is neither 0 nor 1.
  [[nodiscard]] IndexCell number(std::uint64_t row, const Field& field);

 private:
  [[nodiscard]] const Hdf5ChunkRun* run_of(std::uint64_t row);
  // The element of a row, first byte least significant.
  [[nodiscard]] std::uint64_t element(std::uint64_t row);

  // A file may have a thousand columns.
  static constexpr std::uint64_t kWindowBytes = 16 * 1024;

  const Hdf5Dataset* dataset_;
  std::uint64_t row_bytes_, per_chunk_;
  WindowReader window_;
  std::size_t last_run_ = 0;
};

}  // namespace shale
