#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>

#include "shale/base/view_bytes.hpp"
#include "shale/format/format.hpp"

#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_tree.hpp"
#include "formats/lmdb/lmdb_tree_path.hpp"

namespace shale::lmdb {

/// The number that an own entry's key of 8 digits stands for; nullopt for any other key.
[[nodiscard]] std::optional<std::uint64_t> ordinal_of(std::string_view key);

/// The walk of walk_trees through a file of shale's own, divided by rows among threads, for files
/// in which it would find nothing: it says whether the tree is exactly what shale writes, and no
/// more. Each part goes down from the root to its first row, then from leaf to leaf. A page counts
/// for the part in which its first row is. Thread-safe but for first_at(). Memory: a bit per page
/// of the file, and a page per level and part.
class TreeParts {
 public:
  /// By open().
  TreeParts(const InputFile& file, const MetaPage& meta);
  /// Null if the meta pages alone say that the file is something else. The file outlives it.
  /// Errors: Code::io.
  [[nodiscard]] static std::shared_ptr<TreeParts> open(const InputFile& file);

  [[nodiscard]] std::uint64_t entries() const { return tree_->meta().main_tree.entries; }

  /// The first row whose value begins at this byte or behind it, or about there: any row will do.
  /// Nullopt where the tree does not lead to one. Errors: Code::io.
  [[nodiscard]] std::optional<ScanPoint> first_at(std::uint64_t byte) const;

  /// Hands out the entries of the part's rows, their pages read through its view as it wants
  /// them: ascending, but for the leaves that lie behind the values of their entries. False as soon
  /// as something is not as shale writes it; what was handed out by then means nothing. Errors:
  /// Code::damaged; Code::io; what the pace and the sink throw.
  [[nodiscard]] bool walk(const ScanRows& part, WalkPace& pace,
                          const std::function<bool(const TreeEntry&)>& sink);

  /// When all rows have been walked, each once: whether every page was met, and once.
  [[nodiscard]] bool is_complete() const;

  /// A run of pages.
  struct PageRun {
    std::uint64_t first, count;
  };

 private:
  // False if one of them has been taken, or is not in the file.
  [[nodiscard]] bool take(std::span<const PageRun> runs, const TreeStatistics& of_them);

  const InputFile& file_;
  std::shared_ptr<PagedTree> tree_;
  mutable std::mutex mutex_;  // of all below
  PageMap pages_;
  TreeStatistics totals_;
};

}  // namespace shale::lmdb
