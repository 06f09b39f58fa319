#include "formats/lmdb/lmdb_cursor.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"

#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_page.hpp"
#include "formats/lmdb/lmdb_tree_path.hpp"

namespace shale {
namespace {

using lmdb::MetaPage;
using lmdb::PagedTree;
using lmdb::PageNode;
using lmdb::TreePath;

// Called where nothing was found. LMDB keeps the pages of a state that no reader has registered for
// two transactions. Once the second is committed, a third may be writing over them, and what was
// found there says nothing. Errors: Code::damaged if the file has gone on that far.
void prove_absence(const PagedTree& tree) {
  const std::uint64_t latest =
      lmdb::read_live_meta(*tree.file(), [](const Finding&) {}).transaction;
  const std::uint64_t then = tree.meta().transaction;
  if (latest < then + 2) return;
  throw Error(Code::damaged,
              "not found in transaction {}, whose pages may have been overwritten: the file is "
              "at {} now",
              then, latest)
      .at(tree.file()->path())
      .hint("begin another transaction to see the file as it is now");
}

KeyMapEntry entry_at(const PagedTree& tree, const TreePath& path) {
  const TreePath::Step& step = path.last();
  const PageNode& node = step.node();
  if ((node.flags & lmdb::kDupData) != 0) {
    throw Error(Code::unsupported, "the values of key '{}' are sorted duplicates",
                lmdb::shown_key(node.key))
        .at(tree.file()->path(), path.named_at(step));
  }
  KeyMapEntry entry{.key = node.key,
                    .value_bytes = node.value_bytes,
                    .value = {},
                    .is_database = (node.flags & lmdb::kSubData) != 0,
                    .owner = step.page};
  if ((node.flags & lmdb::kBigData) == 0) {
    entry.value_offset = tree.offset_of(step.page->number) + node.value_begin;
    entry.value = Bytes(step.page->bytes).subspan(node.value_begin, node.value_bytes);
    return entry;
  }
  const std::uint64_t count = lmdb::overflow_pages(node.value_bytes, tree.meta().page_bytes);
  if (node.child < lmdb::kMetaPages || node.child >= tree.pages() ||
      count > tree.pages() - node.child) {
    throw Error(Code::damaged,
                "value of key '{}' is in {} pages from page {} on, but the file has {}",
                lmdb::shown_key(node.key), count, node.child, tree.pages())
        .at(tree.file()->path(), path.named_at(step));
  }
  entry.value_offset = tree.offset_of(node.child) + lmdb::kPageHeaderBytes;
  return entry;
}

class LmdbCursor final : public KeyCursor {
 public:
  explicit LmdbCursor(std::shared_ptr<PagedTree> tree)
      : tree_(std::move(tree)), path_(tree_, tree_->meta().main_tree.depth) {}

  bool first() override { return go_to_end(TreePath::Side::front); }
  bool last() override { return go_to_end(TreePath::Side::back); }

  bool next() override { return path_.is_empty() ? first() : step(TreePath::Side::back); }
  bool prev() override { return path_.is_empty() ? last() : step(TreePath::Side::front); }

  bool seek(Bytes key) override {
    search(key);
    return found(has_entry() && tree_->compare(key, path_.last().node().key) == 0);
  }

  bool seek_range(Bytes key) override {
    search(key);
    return found(has_entry() || path_.advance(TreePath::Side::back));
  }

  [[nodiscard]] std::optional<KeyMapEntry> current() const override {
    if (!is_at_entry_) return std::nullopt;
    return entry_at(*tree_, path_);
  }

  [[nodiscard]] std::unique_ptr<KeyCursor> clone() const override {
    return std::make_unique<LmdbCursor>(*this);
  }

 private:
  // Of look-ups. (Whoever moves to the end has met the pages that say so.)
  bool found(bool is_there) {
    if (!is_there) prove_absence(*tree_);
    return is_at_entry_ = is_there;
  }

  [[nodiscard]] bool has_entry() const {
    return !path_.is_empty() && path_.last().index < path_.last().count();
  }

  bool go_to_end(TreePath::Side side) {
    path_.descend_to_end(side);
    return is_at_entry_ = !path_.is_empty();
  }

  bool step(TreePath::Side side) { return is_at_entry_ = path_.advance(side).has_value(); }

  // To where the key is, or would be put: at the end of a leaf, maybe.
  void search(Bytes key) {
    path_.descend([&](const TreePath::Step& step) {
      const std::vector<PageNode>& nodes = step.page->contents.nodes;
      const bool is_leaf = step.page->contents.is_leaf;
      // The first node of a branch has no key: it is below every other.
      const auto found = std::lower_bound(
          nodes.begin() + (is_leaf ? 0 : 1), nodes.end(), key,
          [&](const PageNode& node, Bytes wanted) { return tree_->compare(node.key, wanted) < 0; });
      const auto index = static_cast<std::size_t>(found - nodes.begin());
      if (is_leaf || (found != nodes.end() && tree_->compare(found->key, key) == 0)) return index;
      return index - 1;
    });
  }

  std::shared_ptr<PagedTree> tree_;
  TreePath path_;  // to a leaf; empty for a fresh cursor
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
      : tree_(std::make_shared<PagedTree>(std::move(file), meta)), image_(image) {
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

  // `tree`: instead of the main one.
  static std::shared_ptr<const LmdbMap> open(std::shared_ptr<const InputFile> file,
                                             const std::optional<lmdb::TreeRecord>& tree = {}) {
    // In this order: whatever is written in between shows as a difference to the image.
    const auto read_meta = [&] {
      return tree ? lmdb::read_live_meta(*file, [](const Finding&) {}) : read_settled_meta(*file);
    };
    const MetaImage image = read_meta_image(*file, read_meta().page_bytes);
    MetaPage meta = read_meta();
    if (tree) meta.main_tree = *tree;
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
  std::shared_ptr<PagedTree> tree_;
  MetaImage image_;
  KeyMapFacts facts_;
};

}  // namespace

std::shared_ptr<const KeyMap> open_lmdb_map(std::shared_ptr<const InputFile> file) {
  return LmdbMap::open(std::move(file));
}
std::shared_ptr<const KeyMap> open_lmdb_map(const InputFile& file) {
  return open_lmdb_map(std::shared_ptr<const InputFile>(std::shared_ptr<void>(), &file));
}
std::shared_ptr<const KeyMap> open_lmdb_map(const InputFile& file, const lmdb::TreeRecord& tree) {
  return LmdbMap::open(std::shared_ptr<const InputFile>(std::shared_ptr<void>(), &file), tree);
}

std::uint64_t key_offset_of(const KeyMapEntry& entry) {
  const auto& page = *static_cast<const lmdb::TreePage*>(entry.owner.get());
  const auto in_page = static_cast<std::uint64_t>(entry.key.data() - page.bytes.data());
  return page.number * page.bytes.size() + in_page;
}

}  // namespace shale
