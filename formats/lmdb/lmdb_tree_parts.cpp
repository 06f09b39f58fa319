#include "formats/lmdb/lmdb_tree_parts.hpp"

#include <algorithm>
#include <charconv>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"

#include "formats/lmdb/lmdb_node.hpp"
#include "formats/lmdb/lmdb_page.hpp"
#include "formats/lmdb/lmdb_tree_path.hpp"

namespace shale::lmdb {
namespace {

constexpr std::size_t kOrdinalDigits = 8;
// A search that goes on from leaf to leaf is lost.
constexpr int kMostLeavesPast = 16;

// False where the pages are not those of a sound tree: that shale did not write.
template <class Walk>
bool is_sound_in(const Walk& walk) try {
  return walk();
} catch (const Error& error) {
  if (error.code() != Code::damaged) throw;
  return false;
}

// Goes through the leaves in the order of their keys. Errors: as TreePath.
class LeafCursor {
 public:
  explicit LeafCursor(const std::shared_ptr<PagedTree>& tree)
      : root_(tree->meta().main_tree.root), path_(tree, tree->meta().main_tree.depth - 1) {}

  // To the leaf that has the row, if there is one.
  void go_to_row(std::uint64_t row) {
    path_.descend([&](const TreePath::Step& step) {
      std::size_t child = 0;
      while (child + 1 < step.count() && first_row(step, child + 1) <= row) ++child;
      return child;
    });
  }
  // To the first leaf at or behind a page of the file.
  bool go_to_page(std::uint64_t number) {
    path_.descend([&](const TreePath::Step& step) {
      std::size_t child = 0;
      while (child + 1 < step.count() && step.page->contents.nodes[child].child < number) ++child;
      return child;
    });
    for (int past = 0; leaf() < number && !is_last(); ++past) {
      if (past == kMostLeavesPast || !go_on()) return false;
    }
    return true;
  }

  // To the next leaf; false if there is none.
  bool go_on() {
    const std::optional<std::size_t> turned = path_.advance(TreePath::Side::back);
    if (!turned) return false;
    named_row_ = first_row(path_.steps()[*turned], path_.steps()[*turned].index);
    fresh_from_ = *turned + 1;
    return true;
  }
  [[nodiscard]] bool is_last() const { return path_.is_at_end(TreePath::Side::back); }

  [[nodiscard]] std::uint64_t leaf() const {
    return path_.is_empty() ? root_ : path_.last().node().child;
  }

  // Whether the branch page that first leads to this leaf, if one does, names its first row.
  [[nodiscard]] bool names(std::uint64_t row) const {
    if (named_row_) return *named_row_ == row;
    for (std::size_t level = path_.steps().size(); level > 0; --level) {
      const TreePath::Step& step = path_.steps()[level - 1];
      if (step.index > 0) return first_row(step, step.index) == row;
    }
    return true;
  }
  // The branch pages whose first leaf this is. False for one that shale does not write.
  bool add_fresh_pages(std::vector<TreeParts::PageRun>& runs) const {
    const std::vector<TreePath::Step>& steps = path_.steps();
    for (std::size_t level = steps.size(); level > fresh_from_; --level) {
      const TreePath::Step& step = steps[level - 1];
      if (step.index > 0) break;
      if (!step.node().key.empty()) return false;
      runs.push_back({step.page->number, 1});
    }
    return true;
  }

 private:
  // A key that is not a number has no row.
  [[nodiscard]] static std::uint64_t first_row(const TreePath::Step& step, std::size_t child) {
    return ordinal_of(as_text(step.page->contents.nodes[child].key)).value_or(kMissing);
  }

  std::uint64_t root_;
  TreePath path_;                           // of branch pages
  std::size_t fresh_from_ = 0;              // levels from here on were entered with this leaf
  std::optional<std::uint64_t> named_row_;  // by the page that led from the leaf before
};

bool has_large_values(const PageContents& leaf) {
  return std::ranges::any_of(leaf.nodes,
                             [](const PageNode& node) { return (node.flags & kBigData) != 0; });
}

// The rows of a part, leaf after leaf.
class PartWalk {
 public:
  PartWalk(const InputFile& file, const ViewBytes& view, WalkPace& pace,
           const std::function<bool(const TreeEntry&)>& sink)
      : file_(file), view_(view), pace_(pace), sink_(sink) {}

  // What of the leaf counts for this part is in runs() and totals().
  bool read_leaf(const LeafCursor& cursor, std::uint64_t row, std::uint64_t end) {
    runs_.clear();
    totals_ = {};
    pace_.step_to(cursor.leaf() * kPageBytes);
    if (!open(cursor.leaf())) return false;
    const std::vector<PageNode>& nodes = contents_.nodes;
    const std::optional<std::uint64_t> first = ordinal_of(as_text(nodes[0].key));
    if (!first || *first > row || row - *first >= nodes.size()) return false;
    if (*first == row) {
      if (!cursor.names(row) || !cursor.add_fresh_pages(runs_)) return false;
      totals_.branch_pages = runs_.size();
      runs_.push_back({number_, 1});
      totals_.leaf_pages = 1;
    }
    begin_ = row - *first;
    end_ = std::min<std::uint64_t>(nodes.size(), end - *first);
    totals_.entries = end_ - begin_;
    for (std::size_t i = begin_; i < end_; ++i) {
      if ((nodes[i].flags & kBigData) == 0) continue;
      runs_.push_back({nodes[i].child, overflow_pages(nodes[i].value_bytes, kPageBytes)});
      totals_.overflow_pages += runs_.back().count;
    }
    return true;
  }

  bool hand_out() {
    for (std::size_t i = begin_; i < end_; ++i) {
      if (!hand_out(contents_.nodes[i])) return false;
    }
    return true;
  }

  [[nodiscard]] std::span<const TreeParts::PageRun> runs() const { return runs_; }
  [[nodiscard]] const TreeStatistics& totals() const { return totals_; }

 private:
  // Leaves that follow one another are read as the file is; one that lies behind its values is read
  // before them, by itself.
  bool open(std::uint64_t number) {
    const bool follows = number == std::exchange(number_, number) + 1;
    if (follows) {
      bytes_ = view_(number * kPageBytes, kPageBytes);
      if (!take_apart()) return false;
      if (!has_large_values(contents_)) return true;
      copy_.assign(bytes_.begin(), bytes_.end());
    } else {
      copy_.resize(kPageBytes);
      file_.read_exact(number * kPageBytes, copy_);
    }
    bytes_ = copy_;
    return take_apart();
  }

  // False for a page with any fault.
  bool take_apart() {
    bool is_sound = true;
    contents_ = read_page(bytes_, number_, [&](const PageFault&) { is_sound = false; });
    return is_sound && !contents_.has_loss && !contents_.nodes.empty() && contents_.is_leaf;
  }

  bool hand_out(const PageNode& node) {
    const std::uint64_t page_offset = number_ * kPageBytes;
    TreeEntry entry{{.page = bytes_,
                     .page_offset = page_offset,
                     .value_offset = page_offset + node.value_begin,
                     .value_bytes = node.value_bytes},
                    node.key,
                    page_offset + node.key_begin,
                    node.flags};
    if ((node.flags & kBigData) != 0) {
      pace_.step();
      const std::uint64_t begin = node.child * kPageBytes;
      if (overflow_pages_in(view_(begin, kPageHeaderBytes), node.child) !=
          overflow_pages(node.value_bytes, kPageBytes))
        return false;
      entry.value_offset = begin + kPageHeaderBytes;
    }
    return sink_(entry);
  }

  const InputFile& file_;
  const ViewBytes& view_;
  WalkPace& pace_;
  const std::function<bool(const TreeEntry&)>& sink_;
  std::uint64_t number_ = 0;  // of the leaf at hand
  Bytes bytes_;               // of it, wherever they are
  std::vector<std::byte> copy_;
  PageContents contents_;  // views into `bytes_`
  std::size_t begin_ = 0, end_ = 0;
  std::vector<TreeParts::PageRun> runs_;
  TreeStatistics totals_;
};

}  // namespace

std::optional<std::uint64_t> ordinal_of(std::string_view key) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(key.data(), key.data() + key.size(), number);
  const bool is_whole = parsed.ec == std::errc() && parsed.ptr == key.data() + key.size();
  return is_whole && key.size() == kOrdinalDigits ? std::optional(number) : std::nullopt;
}

TreeParts::TreeParts(const InputFile& file, const MetaPage& meta)
    : file_(file),
      // Borrowed: the file outlives the tree.
      tree_(std::make_shared<PagedTree>(
          std::shared_ptr<const InputFile>(std::shared_ptr<void>(), &file), meta)),
      pages_(file.size() / kPageBytes) {
  (void)pages_.take(0, kMetaPages);
  totals_.depth = meta.main_tree.depth;
}

std::shared_ptr<TreeParts> TreeParts::open(const InputFile& file) {
  bool is_sound = true;
  std::optional<MetaPage> meta;
  try {
    meta = read_live_meta(file, [&](const Finding&) { is_sound = false; });
  } catch (const Error& error) {
    if (error.code() != Code::damaged && error.code() != Code::unsupported) throw;
    return nullptr;
  }
  const TreeRecord& tree = meta->main_tree;
  const bool is_own = meta->page_bytes == kPageBytes && tree.flags == 0 &&
                      meta->free_tree.root == kNoPage && meta->free_tree == TreeStatistics() &&
                      tree.root != kNoPage && tree.depth > 0 && tree.depth <= kMaxDepth &&
                      meta->last_page < file.size() / kPageBytes &&
                      file.size() == (meta->last_page + 1) * kPageBytes;
  if (!is_sound || !is_own) return nullptr;
  return std::make_shared<TreeParts>(file, *meta);
}

std::optional<ScanPoint> TreeParts::first_at(std::uint64_t byte) const {
  if (byte == 0) return ScanPoint{};
  std::optional<ScanPoint> point;
  (void)is_sound_in([&] {
    const std::uint64_t number = (byte + kPageBytes - 1) / kPageBytes;
    LeafCursor cursor(tree_);
    if (!cursor.go_to_page(number)) return false;
    if (cursor.leaf() < number) {
      point = ScanPoint{entries(), file_.size()};
      return true;
    }
    const TreePagePtr leaf = tree_->page(cursor.leaf(), tree_->meta().main_tree.depth, byte);
    // Behind the last value in front of the byte.
    const std::vector<PageNode>& nodes = leaf->contents.nodes;
    std::size_t node = nodes.size();
    const auto is_before = [&](const PageNode& of) {
      return (of.flags & kBigData) != 0 && of.child < number;
    };
    while (node > 0 && !is_before(nodes[node - 1])) --node;
    const std::optional<std::uint64_t> first = ordinal_of(as_text(nodes[0].key));
    if (first) point = ScanPoint{*first + node, byte};
    return true;
  });
  return point;
}

bool TreeParts::walk(const ScanRows& rows, WalkPace& pace,
                     const std::function<bool(const TreeEntry&)>& sink) {
  const std::uint64_t begin = rows.begin.row, end = rows.end.row;
  if (begin == end) return true;
  return is_sound_in([&] {
    LeafCursor cursor(tree_);
    cursor.go_to_row(begin);
    PartWalk part(file_, rows.view, pace, sink);
    for (std::uint64_t row = begin;;) {
      if (!part.read_leaf(cursor, row, end) || !take(part.runs(), part.totals()) ||
          !part.hand_out())
        return false;
      row += part.totals().entries;
      if (row == end) return end < entries() || cursor.is_last();
      if (!cursor.go_on()) return false;
    }
  });
}

bool TreeParts::take(std::span<const PageRun> runs, const TreeStatistics& of_them) {
  const std::scoped_lock lock(mutex_);
  for (const PageRun& run : runs) {
    const bool is_in_file = run.first < pages_.pages() && run.count <= pages_.pages() - run.first;
    if (!is_in_file || pages_.take(run.first, run.count)) return false;
  }
  totals_.branch_pages += of_them.branch_pages;
  totals_.leaf_pages += of_them.leaf_pages;
  totals_.overflow_pages += of_them.overflow_pages;
  totals_.entries += of_them.entries;
  return true;
}

bool TreeParts::is_complete() const {
  const std::scoped_lock lock(mutex_);
  return totals_ == tree_->meta().main_tree && pages_.taken() == pages_.pages();
}

}  // namespace shale::lmdb
