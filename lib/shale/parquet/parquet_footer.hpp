#pragma once

#include <cstdint>
#include <string_view>

#include "shale/base/view_bytes.hpp"
#include "shale/parquet/parquet_metadata.hpp"

// clang-format off
// A Parquet file:
//   +0       4    "PAR1"
//   +4       ...  column chunks: pages, each a header and its bytes; the page index
//   size-8-N N    the footer: FileMetaData
//   size-8   4    N
//   size-4   4    "PAR1"; "PARE" if the footer is encrypted
// Source: apache/parquet-format, README.md.
// clang-format on

namespace shale {

inline constexpr std::string_view kParquetMagic = "PAR1";
/// The least that a file has: both magics and the length of the footer.
inline constexpr std::uint64_t kLeastParquetBytes = 12;
/// Memory for a footer is some ten times its size.
inline constexpr std::uint64_t kMostFooterBytes = 64 << 20;
/// Each of the nodes, and of the keys, takes more memory than the three bytes that it can have.
inline constexpr std::size_t kMostSchemaNodes = 65'536, kMostKeyValues = 65'536;
/// The names of a column from the root down, with a dot between each.
inline constexpr std::uint64_t kMostPathBytes = 4096;
/// A page header may hold whole values, as the least and the largest of its page.
inline constexpr std::uint64_t kMostPageHeaderBytes = 16 << 20;

/// The most rows of a file, and the most values of all its columns: a run of levels has 2^31 in a
/// few bytes. Writers come to some 5,000 a byte where all rows are the same.
[[nodiscard]] constexpr std::uint64_t most_slots_of(std::uint64_t file_bytes) {
  return (std::uint64_t{1} << 24) + (file_bytes << 14);
}

/// Reads and checks the footer: its structs are complete, columns are those of the schema, chunks
/// begin within the file and have no more bytes than it together, rows add up. A chunk whose size
/// reaches into the next one, or into the footer, ends where that begins. `where` is the file's
/// path. Errors: Code::damaged; Code::unsupported for encryption and for columns in other files;
/// Code::limit for what is above one of the limits here.
[[nodiscard]] ParquetFooter read_parquet_footer(const ViewBytes& view, std::uint64_t file_bytes,
                                                std::string_view where);

/// Where the pages of a chunk lie. Errors: Code::damaged if that is not within [4, `end`).
struct ParquetRange {
  std::uint64_t begin = 0, end = 0;
};
[[nodiscard]] ParquetRange range_of(const ParquetChunk& chunk, std::uint64_t end,
                                    std::string_view where);

/// The header of the page at `offset`, which ends with its bytes by `end`. Reads 512 bytes, and
/// more only if the header has more.
/// Errors: Code::damaged; Code::limit for a header above kMostPageHeaderBytes.
[[nodiscard]] ParquetPageHeader read_page_header(const ViewBytes& view, std::uint64_t offset,
                                                 std::uint64_t end, std::string_view where);

}  // namespace shale
