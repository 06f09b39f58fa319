#include "formats/lmdb/lmdb_cursor.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_page.hpp"
#include "formats/lmdb/lmdb_page_cache.hpp"

namespace shale {
namespace {

using lmdb::MetaPage;
using lmdb::PageNode;
using lmdb::TreePage;
using lmdb::TreePagePtr;

constexpr std::size_t kCacheBytes = 4 << 20;

std::string shown(Bytes key) {
  constexpr std::size_t kMostShown = 64;
  return printable(as_text(key.first(std::min(key.size(), kMostShown))));
}

// One state of the main tree, and the pages of it that were met last.
class LmdbTree {
 public:
  LmdbTree(std::shared_ptr<const InputFile> file, const MetaPage& meta)
      : file_(std::move(file)), meta_(meta), cache_(kCacheBytes) {
    const std::uint64_t in_file = file_->size_now() / meta.page_bytes;
    pages_ = meta.last_page < in_file ? meta.last_page + 1 : in_file;
  }

  [[nodiscard]] const std::shared_ptr<const InputFile>& file() const { return file_; }
  [[nodiscard]] const MetaPage& meta() const { return meta_; }
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t page) const {
    return page * meta_.page_bytes;
  }
  [[nodiscard]] int compare(Bytes a, Bytes b) const {
    return lmdb::compare_keys(a, b, meta_.main_tree.flags);
  }

  /// A page of the tree, checked. `level` is 1 at the root; `named_at` is the offset of what refers
  /// to the page.
  TreePagePtr page(std::uint64_t number, std::size_t level, std::uint64_t named_at) {
    TreePagePtr page = cache_.find(number);
    if (page == nullptr) {
      page = read(number, named_at);
      cache_.keep(page);
    }
    // The depth is at most that of LMDB's own stack of pages, so no chain of pages is endless.
    if (page->contents.is_leaf != (level == meta_.main_tree.depth)) {
      throw Error(Code::damaged, "page {} is {} at level {} of a tree of {}", number,
                  page->contents.is_leaf ? "a leaf" : "a branch", level, meta_.main_tree.depth)
          .at(file_->path(), offset_of(number));
    }
    return page;
  }

  /// Called where nothing was found. LMDB keeps the pages of a state that no reader has registered
  /// for two transactions. Once the second is committed, a third may be writing over them, and what
  /// was found there says nothing. Errors: Code::damaged if the file has gone on that far.
  void prove_absence() const {
    const std::uint64_t latest = lmdb::read_live_meta(*file_, [](const Finding&) {}).transaction;
    if (latest < meta_.transaction + 2) return;
    throw Error(Code::damaged,
                "not found in transaction {}, whose pages may have been overwritten: the file is "
                "at {} now",
                meta_.transaction, latest)
        .at(file_->path())
        .hint("begin another transaction to see the file as it is now");
  }

  [[nodiscard]] KeyMapEntry entry(const TreePagePtr& page, std::size_t index) const {
    const PageNode& node = page->contents.nodes[index];
    const std::uint64_t node_offset = offset_of(page->number) + node.begin;
    if ((node.flags & lmdb::kDupData) != 0) {
      throw Error(Code::unsupported, "the values of key '{}' are sorted duplicates",
                  shown(node.key))
          .at(file_->path(), node_offset);
    }
    KeyMapEntry entry{.key = node.key,
                      .value_bytes = node.value_bytes,
                      .value = {},
                      .is_database = (node.flags & lmdb::kSubData) != 0,
                      .owner = page};
    if ((node.flags & lmdb::kBigData) == 0) {
      entry.value_offset = offset_of(page->number) + node.value_begin;
      entry.value = Bytes(page->bytes).subspan(node.value_begin, node.value_bytes);
      return entry;
    }
    const std::uint64_t count = lmdb::overflow_pages(node.value_bytes, meta_.page_bytes);
    if (node.child < lmdb::kMetaPages || node.child >= pages_ || count > pages_ - node.child) {
      throw Error(Code::damaged,
                  "value of key '{}' is in {} pages from page {} on, but the file has {}",
                  shown(node.key), count, node.child, pages_)
          .at(file_->path(), node_offset);
    }
    entry.value_offset = offset_of(node.child) + lmdb::kPageHeaderBytes;
    return entry;
  }

 private:
  TreePagePtr read(std::uint64_t number, std::uint64_t named_at) const {
    if (number < lmdb::kMetaPages || number >= pages_) {
      throw Error(Code::damaged, "refers to page {}, but the file has {} in use", number, pages_)
          .at(file_->path(), named_at);
    }
    auto page = std::make_shared<TreePage>();
    page->number = number;
    page->bytes.resize(meta_.page_bytes);
    file_->read_exact(offset_of(number), page->bytes);
    page->contents = lmdb::read_page(page->bytes, number, [&](const lmdb::PageFault& fault) {
      Error error(Code::damaged, "{} ({}, expected {})", fault.message, fault.found,
                  fault.expected);
      throw std::move(error.at(file_->path(), offset_of(number) + fault.offset));
    });
    check_order(*page);
    return page;
  }

  // The first key of a branch page stands for none.
  void check_order(const TreePage& page) const {
    const std::vector<PageNode>& nodes = page.contents.nodes;
    for (std::size_t i = page.contents.is_leaf ? 1 : 2; i < nodes.size(); ++i) {
      if (compare(nodes[i - 1].key, nodes[i].key) < 0) continue;
      throw Error(Code::damaged, "key '{}' does not follow the one before it, '{}'",
                  shown(nodes[i].key), shown(nodes[i - 1].key))
          .at(file_->path(), offset_of(page.number) + nodes[i].begin);
    }
  }

  std::shared_ptr<const InputFile> file_;
  MetaPage meta_;
  std::uint64_t pages_ = 0;  // in use, and whole in the file
  lmdb::PageCache cache_;
};

class LmdbCursor final : public KeyCursor {
 public:
  explicit LmdbCursor(std::shared_ptr<LmdbTree> tree) : tree_(std::move(tree)) {}

  bool first() override { return go_to_end(Side::front); }
  bool last() override { return go_to_end(Side::back); }

  bool next() override {
    if (path_.empty()) return first();
    Step& leaf = path_.back();
    if (leaf.index + 1 < leaf.count()) {
      ++leaf.index;
      return is_at_entry_ = true;
    }
    return is_at_entry_ = step_over(Side::back);
  }

  bool prev() override {
    if (path_.empty()) return last();
    Step& leaf = path_.back();
    if (leaf.index > 0) {
      --leaf.index;
      return is_at_entry_ = true;
    }
    return is_at_entry_ = step_over(Side::front);
  }

  bool seek(Bytes key) override {
    search(key);
    return found(!path_.empty() && has_entry() &&
                 tree_->compare(key, path_.back().node().key) == 0);
  }

  bool seek_range(Bytes key) override {
    search(key);
    return found(!path_.empty() && (has_entry() || step_over(Side::back)));
  }

  [[nodiscard]] std::optional<KeyMapEntry> current() const override {
    if (!is_at_entry_) return std::nullopt;
    return tree_->entry(path_.back().page, path_.back().index);
  }

  [[nodiscard]] std::unique_ptr<KeyCursor> clone() const override {
    return std::make_unique<LmdbCursor>(*this);
  }

 private:
  enum class Side { front, back };

  struct Step {
    TreePagePtr page;
    std::size_t index = 0;

    [[nodiscard]] std::size_t count() const { return page->contents.nodes.size(); }
    [[nodiscard]] const PageNode& node() const { return page->contents.nodes[index]; }
  };
  using Path = std::vector<Step>;

  // Of look-ups. (Whoever moves to the end has met the pages that say so.)
  bool found(bool is_there) {
    if (!is_there) tree_->prove_absence();
    return is_at_entry_ = is_there;
  }

  [[nodiscard]] bool has_entry() const { return path_.back().index < path_.back().count(); }

  // A path to the root; empty for a tree without entries.
  [[nodiscard]] Path root() const {
    const MetaPage& meta = tree_->meta();
    Path path;
    if (meta.main_tree.root == lmdb::kNoPage) return path;
    path.reserve(meta.main_tree.depth);
    path.push_back({tree_->page(meta.main_tree.root, 1, meta.offset)});
    return path;
  }

  // Goes one page down, to the child of the last step.
  void descend(Path& path) const {
    const Step& step = path.back();
    const std::uint64_t named_at = tree_->offset_of(step.page->number) + step.node().begin;
    path.push_back({tree_->page(step.node().child, path.size() + 1, named_at)});
  }

  void descend_to_leaf(Path& path, Side side) const {
    const auto end_of = [&](const Step& step) {
      return side == Side::front ? 0 : step.count() - 1;
    };
    path.back().index = end_of(path.back());
    while (!path.back().page->contents.is_leaf) {
      descend(path);
      path.back().index = end_of(path.back());
    }
  }

  bool go_to_end(Side side) {
    Path path = root();
    if (!path.empty()) descend_to_leaf(path, side);
    path_ = std::move(path);
    return is_at_entry_ = !path_.empty();
  }

  // To the first entry of the leaf behind this one, or the last of the one before. False, and no
  // step, where there is none.
  bool step_over(Side side) {
    std::size_t level = path_.size() - 1;
    const auto is_last_child = [&](const Step& step) {
      return side == Side::back ? step.index + 1 >= step.count() : step.index == 0;
    };
    do {
      if (level == 0) return false;
      --level;
    } while (is_last_child(path_[level]));
    Path path(path_.begin(), path_.begin() + static_cast<std::ptrdiff_t>(level) + 1);
    path.back().index += side == Side::back ? 1 : std::size_t(-1);
    descend(path);
    descend_to_leaf(path, side == Side::back ? Side::front : Side::back);
    check_follows(path, side);
    path_ = std::move(path);
    return true;
  }

  // Keys ascend from leaf to leaf: a page that is met again would make an iteration endless.
  void check_follows(const Path& path, Side side) const {
    const std::vector<PageNode>& from = path_.back().page->contents.nodes;
    const Bytes left = side == Side::back ? from.back().key : path.back().node().key;
    const Bytes right = side == Side::back ? path.back().node().key : from.front().key;
    if (tree_->compare(left, right) < 0) return;
    throw Error(Code::damaged, "page {}: its keys overlap those of a neighboring leaf",
                path.back().page->number)
        .at(tree_->file()->path(), tree_->offset_of(path.back().page->number));
  }

  // To where the key is, or would be put: at the end of a leaf, maybe.
  void search(Bytes key) {
    Path path = root();
    while (!path.empty()) {
      Step& step = path.back();
      const std::vector<PageNode>& nodes = step.page->contents.nodes;
      const bool is_leaf = step.page->contents.is_leaf;
      // The first node of a branch has no key: it is below every other.
      const auto found = std::lower_bound(
          nodes.begin() + (is_leaf ? 0 : 1), nodes.end(), key,
          [&](const PageNode& node, Bytes wanted) { return tree_->compare(node.key, wanted) < 0; });
      step.index = static_cast<std::size_t>(found - nodes.begin());
      if (is_leaf) break;
      if (found == nodes.end() || tree_->compare(found->key, key) != 0) --step.index;
      descend(path);
    }
    path_ = std::move(path);
  }

  std::shared_ptr<LmdbTree> tree_;
  Path path_;  // from the root to a leaf; empty for a fresh cursor
  bool is_at_entry_ = false;
};

// The meta page that counts. Two that contradict each other may be those of two moments, if the
// file is being written to: they are reread a few times before they are called damaged.
MetaPage read_settled_meta(const InputFile& file) {
  constexpr int kAttempts = 4;
  for (int attempt = 1;; ++attempt) {
    std::optional<Finding> fault;
    const MetaPage meta =
        lmdb::read_live_meta(file, [&](Finding finding) { fault = std::move(finding); });
    if (!fault) return meta;
    if (attempt < kAttempts) continue;
    throw Error(Code::damaged, "cannot determine the current state of the file: {}", fault->message)
        .at(file.path(), fault->offset);
  }
}

// The bytes of both meta pages: if they are those of before, nothing was written since. Taking them
// apart again would cost more than all else that a transaction begins with.
using MetaImage = std::array<std::byte, 2 * lmdb::kMetaBytes>;

MetaImage read_meta_image(const InputFile& file, std::uint64_t page_bytes) {
  MetaImage image{};
  file.read_exact(0, std::span(image).first(lmdb::kMetaBytes));
  file.read_exact(page_bytes, std::span(image).last(lmdb::kMetaBytes));
  return image;
}

class LmdbMap final : public KeyMap, public std::enable_shared_from_this<LmdbMap> {
 public:
  LmdbMap(std::shared_ptr<const InputFile> file, const MetaPage& meta, const MetaImage& image)
      : tree_(std::make_shared<LmdbTree>(std::move(file), meta)), image_(image) {
    const lmdb::TreeRecord& record = meta.main_tree;
    facts_ = {.entries = record.entries,
              .page_bytes = meta.page_bytes,
              .depth = record.depth,
              .branch_pages = record.branch_pages,
              .leaf_pages = record.leaf_pages,
              .overflow_pages = record.overflow_pages,
              .last_page = meta.last_page,
              .transaction = meta.transaction,
              .map_bytes = meta.map_bytes,
              .has_integer_keys = (record.flags & lmdb::kIntegerKey) != 0,
              .has_reverse_keys = (record.flags & lmdb::kReverseKey) != 0};
  }

  static std::shared_ptr<const LmdbMap> open(std::shared_ptr<const InputFile> file) {
    // In this order: whatever is written in between shows as a difference to the image.
    const MetaImage image = read_meta_image(*file, read_settled_meta(*file).page_bytes);
    const MetaPage meta = read_settled_meta(*file);
    lmdb::refuse_sorted_duplicates(meta, *file);
    const bool has_root = meta.main_tree.root != lmdb::kNoPage;
    if (meta.main_tree.depth > lmdb::kMaxDepth || has_root != (meta.main_tree.depth > 0)) {
      throw Error(Code::damaged, "a tree of depth {}, but LMDB allows 1 to {}",
                  meta.main_tree.depth, lmdb::kMaxDepth)
          .at(file->path(), meta.offset);
    }
    return std::make_shared<const LmdbMap>(std::move(file), meta, image);
  }

  [[nodiscard]] const KeyMapFacts& facts() const override { return facts_; }

  [[nodiscard]] std::optional<KeyMapEntry> find(Bytes key) const override {
    LmdbCursor cursor(tree_);
    (void)cursor.seek(key);
    return cursor.current();
  }

  [[nodiscard]] std::unique_ptr<KeyCursor> cursor() const override {
    return std::make_unique<LmdbCursor>(tree_);
  }

  [[nodiscard]] std::shared_ptr<const KeyMap> renewed() const override {
    if (read_meta_image(*tree_->file(), tree_->meta().page_bytes) == image_) {
      return shared_from_this();
    }
    return open(tree_->file());
  }

 private:
  std::shared_ptr<LmdbTree> tree_;
  MetaImage image_;
  KeyMapFacts facts_;
};

}  // namespace

std::shared_ptr<const KeyMap> open_lmdb_map(std::shared_ptr<const InputFile> file) {
  return LmdbMap::open(std::move(file));
}

}  // namespace shale
