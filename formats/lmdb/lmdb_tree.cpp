#include "formats/lmdb/lmdb_tree.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "shale/format/finding_draft.hpp"

#include "formats/lmdb/lmdb_node.hpp"
#include "formats/lmdb/lmdb_page.hpp"

namespace shale::lmdb {
namespace {

// What of a value is read without its payload: a map's head and what follows the contents.
constexpr std::uint64_t kValueEndsBytes = 4096;

// What all parts of a walk share.
struct Walk {
  const InputFile& file;
  const MetaPage& meta;
  const TreeWalkOptions& options;
  FindingDraft draft;
  PageMap pages;
};

class TreeWalk {
 public:
  TreeWalk(Walk& walk, const TreeRecord& record, std::string_view name, std::uint16_t key_flags,
           const EntrySink& entries, PageOf kind = PageOf::entries)
      : walk_(walk),
        record_(record),
        name_(name),
        key_flags_(key_flags),
        entries_(entries),
        kind_(kind) {}

  TreeStatistics run() {
    if (record_.root != kNoPage) visit(record_.root, 1, {}, walk_.meta.offset);
    if (!has_loss_) check_totals();
    return totals_;
  }

  [[nodiscard]] bool has_loss() const { return has_loss_; }

 private:
  // The keys of a page lie from `least` on and below `end`, as its parents have it.
  struct KeyRange {
    std::optional<Bytes> least, end;
  };

  [[nodiscard]] std::uint64_t offset_of(std::uint64_t page) const {
    return page * walk_.meta.page_bytes;
  }
  void lose() { has_loss_ = follows_loss_ = true; }

  // `named_at`: the offset of what refers to the page.
  void visit(std::uint64_t number, std::size_t level, const KeyRange& range,
             std::uint64_t named_at) {
    if (!take_page(number, level, named_at)) return lose();
    step();
    while (buffers_.size() < level) buffers_.emplace_back(walk_.meta.page_bytes);
    std::vector<std::byte>& buffer = buffers_[level - 1];
    walk_.file.read_exact(offset_of(number), buffer);
    const PageContents contents = read_page(buffer, number, faults_from(offset_of(number)), kind_);
    if (contents.has_loss) lose();
    if (contents.nodes.empty()) return;
    check_keys(contents, number, range);
    if (!contents.is_leaf) {
      ++totals_.branch_pages;
      return descend(contents, number, level, range);
    }
    ++totals_.leaf_pages;
    if (totals_.depth == 0) totals_.depth = level;
    if (totals_.depth != level) {
      walk_.draft.report(offset_of(number),
                         fmt::format("leaf page {} is at the wrong depth", number),
                         fmt::to_string(level), fmt::to_string(totals_.depth));
    }
    read_leaf(contents, number, buffer);
  }

  [[nodiscard]] std::function<void(PageFault)> faults_from(std::uint64_t offset) const {
    return [this, offset](PageFault fault) {
      walk_.draft.report(offset + fault.offset, std::move(fault.message), std::move(fault.found),
                         std::move(fault.expected));
    };
  }

  void step() const {
    if (walk_.options.pace != nullptr)
      walk_.options.pace->step_to(walk_.pages.taken() * walk_.meta.page_bytes);
  }

  bool take_page(std::uint64_t number, std::size_t level, std::uint64_t named_at) {
    if (level > kMaxDepth) {
      walk_.draft.report(named_at, fmt::format("{} is deeper than LMDB reads", name_),
                         fmt::to_string(level), fmt::format("{} or less", kMaxDepth));
      return false;
    }
    if (number < kMetaPages || number >= walk_.pages.pages()) {
      walk_.draft.report(named_at, fmt::format("page {} of {} is not in the file", number, name_),
                         fmt::to_string(number), range_text());
      return false;
    }
    if (walk_.pages.take(number, 1)) {
      walk_.draft.report(named_at, fmt::format("page {} is referred to twice", number));
      return false;
    }
    return true;
  }

  [[nodiscard]] std::string range_text() const {
    const std::uint64_t pages = walk_.pages.pages();
    return pages > kMetaPages ? fmt::format("{} to {}", kMetaPages, pages - 1) : "no tree page";
  }

  // Keys ascend, within what the parents say. The first key of a branch page stands for none.
  void check_keys(const PageContents& contents, std::uint64_t number, const KeyRange& range) {
    std::optional<Bytes> before = range.least;
    bool may_be_equal = contents.is_leaf;
    const std::size_t first = contents.is_leaf ? 0 : 1;
    for (std::size_t i = first; i < contents.nodes.size(); ++i) {
      const PageNode& node = contents.nodes[i];
      const int order = before ? compare_keys(*before, node.key, key_flags_) : -1;
      const bool is_below_end = !range.end || compare_keys(node.key, *range.end, key_flags_) < 0;
      if (order > 0 || (order == 0 && !may_be_equal) || !is_below_end) {
        walk_.draft.report(
            offset_of(number) + node.begin,
            fmt::format("key {} of page {} is out of order", i, number), shown(node.key),
            is_below_end ? "one above " + shown(*before) : "one below " + shown(*range.end));
      }
      before = node.key;
      may_be_equal = false;
    }
    const Bytes first_key = contents.nodes[0].key;
    if (!contents.is_leaf && walk_.options.is_own && !first_key.empty()) {
      walk_.draft.report(offset_of(number) + contents.nodes[0].begin,
                         "the first node of a branch page has a key", shown(first_key), "none");
    }
  }

  [[nodiscard]] static std::string shown(Bytes key) { return "'" + shown_key(key) + "'"; }

  void descend(const PageContents& contents, std::uint64_t number, std::size_t level,
               const KeyRange& range) {
    const std::vector<PageNode>& nodes = contents.nodes;
    for (const PageNode& node : nodes) {
      // A page outside the file gets its finding when its turn comes.
      if (node.child < walk_.pages.pages())
        walk_.file.prefetch(offset_of(node.child), walk_.meta.page_bytes);
    }
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      KeyRange inner = range;
      if (i > 0) inner.least = nodes[i].key;
      if (i + 1 < nodes.size()) inner.end = nodes[i + 1].key;
      visit(nodes[i].child, level + 1, inner, offset_of(number) + nodes[i].begin);
    }
  }

  void read_leaf(const PageContents& contents, std::uint64_t number, Bytes page) {
    leaf_.clear();
    for (const PageNode& node : contents.nodes) {
      TreeEntry& entry = leaf_.emplace_back();
      entry.page = page;
      entry.page_offset = offset_of(number);
      entry.key = node.key;
      entry.key_offset = offset_of(number) + node.key_begin;
      entry.flags = node.flags;
      entry.value_bytes = node.value_bytes;
      if (kind_ != PageOf::entries) {
        // The key is the value: see take_values().
        entry.value_offset = entry.key_offset;
        entry.value_bytes = node.key.size();
      } else if ((node.flags & kBigData) == 0) {
        entry.value_offset = offset_of(number) + node.value_begin;
      } else if (take_overflow(node, offset_of(number) + node.begin)) {
        entry.value_offset = offset_of(node.child) + kPageHeaderBytes;
        if (walk_.options.prefetches_values) prefetch_ends(entry);
      }
    }
    for (const TreeEntry& entry : leaf_) {
      const bool has_values =
          kind_ == PageOf::entries && (key_flags_ & kDupSort) != 0 && (entry.flags & kDupData) != 0;
      has_values ? take_values(entry) : take(entry);
    }
  }

  void take(TreeEntry entry) {
    entry.follows_loss = std::exchange(follows_loss_, false);
    ++totals_.entries;
    step();
    entries_(entry);
  }

  // The values of a key that has several, each with the key as an entry of its own.
  void take_values(const TreeEntry& key) {
    const std::uint64_t begin = key.value_offset - key.page_offset;
    const Bytes data = key.page.subspan(begin, key.value_bytes);
    const auto take_value = [&](TreeEntry value) {
      value.key = key.key;
      value.key_offset = key.key_offset;
      value.flags = 0;
      take(value);
    };
    if ((key.flags & kSubData) == 0) {
      const PageContents contents =
          read_page(data, 0, faults_from(key.value_offset), PageOf::sub_page);
      for (const PageNode& node : contents.nodes) {
        TreeEntry value = key;
        value.value_offset = key.value_offset + node.key_begin;
        value.value_bytes = node.key.size();
        take_value(value);
      }
      if (contents.has_loss) lose_values(key);
      return;
    }
    if (data.size() != kTreeRecordBytes) {
      walk_.draft.report(key.value_offset, "the record of a key's values has the wrong size",
                         fmt::format("{} bytes", data.size()), fmt::to_string(kTreeRecordBytes));
      return lose_values(key);
    }
    const TreeRecord record = read_tree_record(data);
    const std::uint16_t order = (key_flags_ & kIntegerDup) != 0   ? kIntegerKey
                                : (key_flags_ & kReverseDup) != 0 ? kReverseKey
                                                                  : 0;
    const EntrySink values = take_value;
    TreeWalk walk(walk_, record, "the tree of a key's values", order, values, PageOf::values);
    const TreeStatistics pages = walk.run();
    inner_branch_pages_ += pages.branch_pages;
    inner_leaf_pages_ += pages.leaf_pages;
    if (walk.has_loss()) lose_values(key);
  }

  // Told after those that are left: which they are of all is not known.
  void lose_values(const TreeEntry& key) {
    lose();
    walk_.draft.begin("values of a key are lost", key.value_offset).sample =
        SampleId{std::string(as_text(key.key)), std::nullopt};
    walk_.draft.send({}, {});
  }

  void prefetch_ends(const TreeEntry& entry) const {
    walk_.file.prefetch(entry.value_offset, std::min(entry.value_bytes, kValueEndsBytes));
    if (entry.value_bytes <= kValueEndsBytes) return;
    walk_.file.prefetch(entry.value_offset + entry.value_bytes - kValueEndsBytes, kValueEndsBytes);
  }

  // False, after a finding, if the file does not hold the value.
  bool take_overflow(const PageNode& node, std::uint64_t named_at) {
    const std::uint64_t least = overflow_pages(node.value_bytes, walk_.meta.page_bytes);
    const auto refuse = [&](std::string message, std::string found, std::string expected) {
      walk_.draft.begin(std::move(message), named_at).sample =
          SampleId{std::string(as_text(node.key)), std::nullopt};
      walk_.draft.send(std::move(found), std::move(expected));
      has_loss_ = true;
      return false;
    };
    const auto is_in_file = [&](std::uint64_t count) {
      return node.child >= kMetaPages && node.child < walk_.pages.pages() &&
             count <= walk_.pages.pages() - node.child;
    };
    const auto extent_text = [&](std::uint64_t count) {
      return fmt::format("{} pages from page {} on", count, node.child);
    };
    if (!is_in_file(least)) {
      return refuse("overflow pages of a value are not in the file", extent_text(least),
                    range_text());
    }
    std::uint64_t count = least;
    if (walk_.options.reads_overflow_headers) {
      const std::optional<std::uint64_t> told = read_overflow_header(node.child);
      // A value that shrank while its pages were being written keeps them all.
      if (!told || *told < least || (walk_.options.is_own && *told != least) ||
          !is_in_file(*told)) {
        return refuse("header of a value's overflow pages is wrong",
                      told ? fmt::format("{} pages", *told) : "not an overflow page",
                      extent_text(least));
      }
      count = *told;
    }
    if (const auto taken = walk_.pages.take(node.child, count)) {
      return refuse("overflow pages of a value are in use already", fmt::format("page {}", *taken),
                    extent_text(count));
    }
    totals_.overflow_pages += count;
    return true;
  }

  // How many pages there are; nullopt for a page of another kind.
  [[nodiscard]] std::optional<std::uint64_t> read_overflow_header(std::uint64_t number) const {
    std::array<std::byte, kPageHeaderBytes> header{};
    walk_.file.read_exact(offset_of(number), header);
    return overflow_pages_in(header, number);
  }

  void check_totals() {
    // Where the headers are not read, what a shrunken value has kept is not known.
    const bool has_hidden_pages = !walk_.options.is_own && !walk_.options.reads_overflow_headers &&
                                  totals_.overflow_pages < record_.overflow_pages;
    // Later releases of LMDB count those of the values' trees here, too; a file may have met both.
    const auto counted = [](std::uint64_t found, std::uint64_t inner, std::uint64_t recorded) {
      return recorded >= found && recorded <= found + inner ? recorded : found;
    };
    struct Row {
      std::string_view what;
      std::uint64_t found, recorded;
    };
    const Row rows[] = {
        {"depth", totals_.depth, record_.depth},
        {"branch pages", counted(totals_.branch_pages, inner_branch_pages_, record_.branch_pages),
         record_.branch_pages},
        {"leaf pages", counted(totals_.leaf_pages, inner_leaf_pages_, record_.leaf_pages),
         record_.leaf_pages},
        {"overflow pages", totals_.overflow_pages,
         has_hidden_pages ? totals_.overflow_pages : record_.overflow_pages},
        {"entries", totals_.entries, record_.entries},
    };
    for (const Row& row : rows) {
      if (row.found == row.recorded) continue;
      walk_.draft.report(walk_.meta.offset,
                         fmt::format("record of {} disagrees on its {}", name_, row.what),
                         fmt::to_string(row.found), fmt::to_string(row.recorded));
    }
  }

  Walk& walk_;
  const TreeRecord& record_;
  std::string_view name_;
  std::uint16_t key_flags_;
  const EntrySink& entries_;
  PageOf kind_;
  std::deque<std::vector<std::byte>> buffers_;  // a page each level; a deque: views stay valid
  std::vector<TreeEntry> leaf_;
  bool has_loss_ = false, follows_loss_ = false;
  TreeStatistics totals_;
  std::uint64_t inner_branch_pages_ = 0, inner_leaf_pages_ = 0;  // of the values' trees
};

// The free tree: transaction -> pages that it set free, which nothing may use.
class FreePages {
 public:
  explicit FreePages(Walk& walk) : walk_(walk), window_(walk.file, kWindowBytes) {}

  // Both trees' own pages must be taken by then: an entry may come before a page of its own tree.
  void note(const TreeEntry& entry) {
    if (entry.value_offset != kMissing) {
      extents_.push_back({entry.value_offset, entry.value_bytes, entry.key_offset});
    }
    if (entry.key.size() == sizeof(std::uint64_t)) {
      const std::uint64_t transaction = ByteReader(entry.key).read_u64();
      if (transaction <= walk_.meta.transaction) return;
      walk_.draft.report(entry.key_offset, "pages were freed by a transaction in the future",
                         fmt::to_string(transaction),
                         fmt::format("{} or less", walk_.meta.transaction));
      return;
    }
    walk_.draft.report(entry.key_offset, "key in the tree of free pages is not a transaction",
                       fmt::format("{} bytes", entry.key.size()), "8");
  }

  void check() {
    for (const Extent& extent : extents_) check_list(extent);
  }

 private:
  static constexpr std::uint64_t kWindowBytes = 32 * 1024;
  struct Extent {
    std::uint64_t offset, length, named_at;
  };

  std::uint64_t number_at(std::uint64_t offset) {
    return ByteReader(window_.view(offset, sizeof(std::uint64_t))).read_u64();
  }

  void check_list(const Extent& extent) {
    const std::uint64_t words = extent.length / sizeof(std::uint64_t);
    const std::uint64_t count = words == 0 ? 0 : number_at(extent.offset);
    if (words == 0 || count > words - 1) {
      walk_.draft.report(extent.named_at, "list of free pages is longer than its value",
                         fmt::format("{} pages", count), fmt::format("{} words", words));
      return;
    }
    std::uint64_t before = kNoPage;
    for (std::uint64_t i = 1; i <= count; ++i) {
      const std::uint64_t at = extent.offset + i * sizeof(std::uint64_t);
      const std::uint64_t page = number_at(at);
      if (page < kMetaPages || page > walk_.meta.last_page || page >= before) {
        walk_.draft.report(at, "list of free pages names one that cannot be free",
                           fmt::to_string(page), "page numbers in use, descending");
        return;
      }
      before = page;
      // Pages beyond the end of a truncated file are as free as they were.
      if (page < walk_.pages.pages() && walk_.pages.take(page, 1)) {
        walk_.draft.report(at, fmt::format("page {} is free and in use", page));
        return;
      }
    }
  }

  Walk& walk_;
  WindowReader window_;
  std::vector<Extent> extents_;
};

void check_own(Walk& walk, bool has_loss) {
  const MetaPage& meta = walk.meta;
  const bool fits = meta.last_page < walk.file.size() &&
                    walk.file.size() == (meta.last_page + 1) * meta.page_bytes;
  if (!fits) {
    walk.draft.report(meta.offset, "last page in use is not the last page of the file",
                      fmt::format("page {} of {} bytes", meta.last_page, meta.page_bytes),
                      fmt::format("a file of {} bytes", walk.file.size()));
  }
  if (meta.free_tree.root != kNoPage) {
    walk.draft.report(meta.offset, "has a tree of free pages, which shale does not write");
  }
  if (!has_loss && walk.pages.taken() != walk.pages.pages()) {
    const std::uint64_t lost = walk.pages.first_free();
    walk.draft.report(
        lost * meta.page_bytes, fmt::format("page {} is neither in use nor free", lost),
        fmt::format("{} pages in use", walk.pages.taken()), fmt::to_string(walk.pages.pages()));
  }
}

}  // namespace

TreeStatistics walk_trees(const InputFile& file, const MetaPage& meta,
                          const TreeWalkOptions& options, const EntrySink& entries,
                          const FindingSink& findings) {
  Walk walk{file, meta, options, FindingDraft(file, findings), PageMap(meta.pages_in(file.size()))};
  (void)walk.pages.take(0, std::min(kMetaPages, walk.pages.pages()));
  TreeWalk main_walk(walk, meta.main_tree, "the tree of entries", meta.main_tree.flags, entries);
  const TreeStatistics totals = main_walk.run();

  FreePages free_pages(walk);
  const EntrySink note = [&](const TreeEntry& entry) { free_pages.note(entry); };
  TreeWalk free_walk(walk, meta.free_tree, "the tree of free pages", kIntegerKey, note);
  (void)free_walk.run();
  free_pages.check();
  if (options.is_own) check_own(walk, main_walk.has_loss());
  return totals;
}

}  // namespace shale::lmdb
