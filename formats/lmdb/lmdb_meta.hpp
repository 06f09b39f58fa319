#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "shale/base/finding.hpp"
#include "shale/io/input_file.hpp"

#include "formats/lmdb/lmdb_page.hpp"

// The two meta pages of an LMDB file, read as lmdb_page.hpp draws them.

namespace shale::lmdb {

/// What a meta page says of one tree.
struct TreeRecord : TreeStatistics {
  std::uint16_t flags = 0;
  std::uint64_t root = 0;  ///< kNoPage: the tree is empty
};

/// A meta page. None of its numbers has been checked, but for the size of a page.
struct MetaPage {
  std::uint64_t offset = 0;      ///< of the page in the file
  std::uint64_t page_bytes = 0;  ///< a power of two from 512 to 65,536
  TreeRecord free_tree = {}, main_tree = {};
  std::uint64_t last_page = 0, transaction = 0;
  std::uint64_t map_bytes = 0;

  /// Those in use lie below the last one in use, and whole in the file.
  [[nodiscard]] std::uint64_t pages_in(std::uint64_t file_bytes) const {
    const std::uint64_t in_file = file_bytes / page_bytes;
    return last_page < in_file ? last_page + 1 : in_file;
  }
};

/// Bytes of a record of a tree, in a meta page or as the value of a named database.
inline constexpr std::size_t kTreeRecordBytes = 48;
[[nodiscard]] TreeRecord read_tree_record(Bytes record);

/// Reads both meta pages and gives the one that counts. What is wrong with the other one, or with
/// the two together, goes to the sink; the file stays readable by the one given.
/// Errors: Code::unsupported, by name, for files of LMDB versions, machines and word sizes with
/// another layout; Code::damaged if neither is a meta page, or the file ends before the first;
/// Code::io.
[[nodiscard]] MetaPage read_live_meta(const InputFile& file, const FindingSink& findings);

/// The u32 at an offset of a file's first bytes; 0 where they end before.
[[nodiscard]] std::uint32_t number_at(Bytes head, std::uint64_t offset);

/// Whose file this is, if not that of a 64-bit LMDB 0.9, by where the magic lies in its first
/// bytes: "a big-endian machine". Else empty.
[[nodiscard]] std::string_view relative_of(Bytes head);

/// Errors: Code::unsupported for a main tree whose keys have sorted duplicates.
void refuse_sorted_duplicates(const MetaPage& meta, const InputFile& file);

/// True if both meta pages describe the same tree: shale wrote the file, and liblmdb has not since.
[[nodiscard]] bool have_one_tree(const InputFile& file);
/// The note that LmdbPageWriter left in the meta pages, of the first one that has a whole one.
[[nodiscard]] std::optional<std::string> note_in(const InputFile& file);

}  // namespace shale::lmdb
