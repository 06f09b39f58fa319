#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/io/scratch_file.hpp"

namespace shale {

/// Columns that grow side by side and are read one after the other. What exceeds a small buffer a
/// column goes, in pieces of one size, to one scratch file in `directory`; memory is about 4 MiB
/// (4 KiB a column, if there are more than 1024), and 8 bytes for each piece. Not thread-safe.
class ColumnSpill {
 public:
  ColumnSpill(std::string directory, std::size_t columns);

  /// Errors: Code::io.
  void append(std::size_t column, Bytes bytes);
  /// Hands out the bytes of a column, in order. Errors: Code::io.
  void read(std::size_t column, const std::function<void(Bytes)>& use);

 private:
  struct Column {
    std::vector<std::uint64_t> pieces;  // where they begin in the scratch file
    std::vector<std::byte> rest;
  };
  void flush(Column& column);

  std::string directory_;
  std::uint64_t piece_bytes_;
  std::vector<Column> columns_;
  std::optional<ScratchFile> scratch_;  // made for the first piece: most small shards need none
};

}  // namespace shale
