#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "shale/base/finding.hpp"
#include "shale/io/input_file.hpp"

// The two meta pages of an LMDB file, read as lmdb_page.hpp draws them.

namespace shale::lmdb {

/// What a meta page says of one tree.
struct TreeRecord {
  std::uint16_t flags = 0, depth = 0;
  std::uint64_t branch_pages = 0, leaf_pages = 0, overflow_pages = 0, entries = 0;
  std::uint64_t root = 0;  ///< kNoPage: the tree is empty
};

/// A meta page. None of its numbers has been checked, but for the size of a page.
struct MetaPage {
  std::uint64_t offset = 0;      ///< of the page in the file
  std::uint64_t page_bytes = 0;  ///< a power of two from 512 to 65,536
  TreeRecord free_tree = {}, main_tree = {};
  std::uint64_t last_page = 0, transaction = 0;
  std::uint64_t map_bytes = 0;
};

/// Reads both meta pages and gives the one that counts. What is wrong with the other one, or with
/// the two together, goes to the sink; the file stays readable by the one given.
/// Errors: Code::unsupported, by name, for files of LMDB versions, machines and word sizes with
/// another layout; Code::damaged if the first page is not a meta page, or the file ends before it;
/// Code::io.
[[nodiscard]] MetaPage read_live_meta(const InputFile& file, const FindingSink& findings);

/// Errors: Code::unsupported for a main tree whose keys have sorted duplicates.
void refuse_sorted_duplicates(const MetaPage& meta, const InputFile& file);

}  // namespace shale::lmdb
