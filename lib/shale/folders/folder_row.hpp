#pragma once

#include <cstdint>
#include <string_view>
#include <tuple>

#include "shale/base/path_text.hpp"
#include "shale/manifest/stored_listing.hpp"

namespace shale {

/// A file as a row of the list: sorted, rows are in ImageFolder's order, that of their classes,
/// then of their folders, then of their names. A folder ends in NUL, which is less than any byte of
/// a name, hence "a" < "a-b" < "a/b".
struct FolderRow {
  std::uint32_t rank = 0;  ///< of the class among the classes
  std::string_view folder, name;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0, label = 0;
  std::uint64_t offset = 0;
  bool has_label = true;
  static auto columns(auto& row) {
    return std::tie(row.rank, row.folder, row.name, row.bytes, row.modified_ns, row.label,
                    row.offset, row.has_label);
  }
};

[[nodiscard]] inline ListedFile listed_file(const FolderRow& row) {
  return {.path = join_path(row.folder, row.name),
          .bytes = row.bytes,
          .modified_ns = row.modified_ns,
          .label = row.label,
          .offset = row.offset,
          .has_label = row.has_label};
}

}  // namespace shale
