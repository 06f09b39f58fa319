#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/parquet/parquet_metadata.hpp"

// What a Parquet file is made of beside its values, as shale writes it: pages of version 1, PLAIN,
// without a codec; levels in runs; the page index and the footer.

namespace shale {

/// Levels of a page, as runs: never bit-packed, and no run as another would go on.
class LevelRuns {
 public:
  /// So many slots of one level, at most 255.
  void add(std::uint32_t level, std::uint64_t slots);
  /// What the page has: a u32 length and the runs.
  [[nodiscard]] std::vector<std::byte> bytes() const;
  void clear() { runs_.clear(); }

 private:
  struct Run {
    std::uint32_t level;
    std::uint64_t slots;
  };
  std::vector<Run> runs_;
};

/// The header of a data page whose bytes are `stored_bytes`.
[[nodiscard]] std::vector<std::byte> data_page_header(std::uint64_t stored_bytes, std::uint32_t crc,
                                                      std::uint64_t slots);

/// The least and the greatest value, as PLAIN stores them without a length.
struct WrittenBounds {
  std::string least, greatest;
  friend bool operator==(const WrittenBounds&, const WrittenBounds&) = default;
};

struct WrittenPage {
  std::uint64_t offset = 0;  ///< of its header in the file
  std::uint64_t bytes = 0;   ///< with its header
  std::uint64_t first_row = 0, slots = 0, nulls = 0;
  std::optional<WrittenBounds> bounds = {};  ///< none: of nulls alone, or they are not told
};

struct WrittenChunk {
  std::vector<WrittenPage> pages;
  bool has_bounds = false;  ///< each page tells them that has a value
  std::optional<WrittenBounds> bounds = {};
};

struct WrittenGroup {
  std::uint64_t rows = 0;
  std::vector<WrittenChunk> chunks = {};  ///< in the order of the columns
};

/// A column: a leaf of the schema.
struct WrittenColumn {
  ParquetType type = ParquetType::byte_array;
  std::vector<std::string> path = {};
};

/// What the end of a file says.
struct WrittenFile {
  std::vector<ParquetElement> schema;
  std::vector<WrittenColumn> columns;
  std::vector<WrittenGroup> groups;
  std::vector<ParquetKeyValue> key_values;
  std::string created_by;
};

/// What follows the last page: column indexes, offset indexes, zeros, footer. `begin` is where it
/// begins; the zeros are as many as it takes for the file to have `file_bytes`, or none.
[[nodiscard]] std::vector<std::byte> parquet_tail(const WrittenFile& file, std::uint64_t begin,
                                                  std::uint64_t file_bytes = 0);

}  // namespace shale
