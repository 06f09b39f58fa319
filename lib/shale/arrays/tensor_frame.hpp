#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/schema.hpp"
#include "shale/io/output_file.hpp"
#include "shale/wire/pt_archive.hpp"

namespace shale {

/// What stands around the rows of columns in one .npy, .pt or .safetensors file. The same columns
/// give the same bytes.
class TensorFrame {
 public:
  /// One column in a .pt file is a lone tensor, several are a dict of them. `format` is "npy", of
  /// one column, "pt" or "safetensors". Errors: Code::bug for a dtype that the format does not
  /// have.
  TensorFrame(std::string_view format, std::span<const Field> fields, std::uint64_t rows);

  /// The columns in the order in which they lie.
  [[nodiscard]] std::span<const std::size_t> places() const { return places_; }
  [[nodiscard]] std::uint64_t rows_bytes(std::size_t column) const {
    return columns_[column].bytes();
  }
  /// What precedes the rows of a column, from the end of the column before on.
  [[nodiscard]] std::vector<std::byte> head(std::size_t column, std::uint32_t crc32) const;
  /// What follows the last column; checksums are in the order of the columns.
  [[nodiscard]] std::vector<std::byte> trailer(std::span<const std::uint32_t> crc32s) const;
  /// False: heads and trailer do not depend on checksums, which need not be computed.
  [[nodiscard]] bool has_checksums() const { return archive_.has_value(); }
  [[nodiscard]] std::uint64_t file_bytes() const;

 private:
  std::vector<TensorColumn> columns_;
  std::vector<std::size_t> places_;
  std::optional<PtArchive> archive_;  // of .pt; of others there is a header alone
  std::vector<std::byte> header_;
};

/// A file that holds the rows of a column, from `offset` on.
struct ColumnFile {
  std::string path;
  std::uint64_t offset = 0;
};

/// Writes a file of tensors from one file per column. Each of those is removed when it is in.
/// Memory: 1 MiB. `stop_if_asked` is called for each MiB. Errors: Code::io; those of
/// `stop_if_asked`.
void write_tensors(OutputFile& file, const TensorFrame& frame, std::span<const ColumnFile> columns,
                   const std::function<void()>& stop_if_asked);

}  // namespace shale
