#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/finding.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"
#include "shale/layouts/value_reader.hpp"

#include "formats/lmdb/lmdb_meta.hpp"

namespace shale::lmdb {

/// One bit per page of a file: which are in use. Not thread-safe.
class PageMap {
 public:
  explicit PageMap(std::uint64_t pages) : bits_(pages) {}

  /// The first of these pages that was taken already; nullopt if they are taken now. They are pages
  /// of the file.
  [[nodiscard]] std::optional<std::uint64_t> take(std::uint64_t first, std::uint64_t count) {
    for (std::uint64_t page = first; page < first + count; ++page) {
      if (bits_[page]) return page;
    }
    std::fill_n(bits_.begin() + static_cast<std::ptrdiff_t>(first), count, true);
    taken_ += count;
    return std::nullopt;
  }
  [[nodiscard]] std::uint64_t pages() const { return bits_.size(); }
  [[nodiscard]] std::uint64_t taken() const { return taken_; }
  [[nodiscard]] std::uint64_t first_free() const {
    return static_cast<std::uint64_t>(std::find(bits_.begin(), bits_.end(), false) - bits_.begin());
  }

 private:
  std::vector<bool> bits_;
  std::uint64_t taken_ = 0;
};

/// One entry of the main tree. The views end when the sink returns; `page` is the leaf page. The
/// value is there or, contiguous, in overflow pages.
struct TreeEntry : layouts::ValueExtent {
  Bytes key;
  std::uint64_t key_offset = 0;
  std::uint16_t flags = 0;    ///< NodeFlags
  bool follows_loss = false;  ///< what lay between the entry before and this one was damaged
};

using EntrySink = std::function<void(const TreeEntry&)>;

struct TreeWalkOptions {
  /// What shale writes: no page is free, lost or truncated, and there is none behind the last one.
  bool is_own = false;
  /// One read per value that is not in a leaf: the overflow pages' header is checked too.
  bool reads_overflow_headers = false;
  /// The entries' values will be looked at: the kernel is told before the sink is.
  bool prefetches_values = false;
  /// Steps at each page and each entry. Null: nobody asks.
  WalkPace* pace = nullptr;
};

/// Walks the main tree in key order, the values of a key that has several in their order, then the
/// free one, each page once, and hands out the entries of the main tree. Findings: pages that are
/// not tree pages, lie outside the file or are met twice; nodes outside their page or on top of
/// each other; keys out of order or outside what their parent says; leaves at another depth; totals
/// that differ from the tree's own; free pages that are in use. A damaged page loses its entries
/// only: the walk goes on with the next. Memory: a bit per page of the file and a page per level.
/// Errors: Code::io.
[[nodiscard]] TreeStatistics walk_trees(const InputFile& file, const MetaPage& meta,
                                        const TreeWalkOptions& options, const EntrySink& entries,
                                        const FindingSink& findings);

}  // namespace shale::lmdb
