#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "shale/io/input_file.hpp"

#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_node.hpp"
#include "formats/lmdb/lmdb_page.hpp"

namespace shale::lmdb {

/// A page of a tree that has been read and checked. Never changes.
struct TreePage {
  std::uint64_t number = 0;
  std::vector<std::byte> bytes;
  PageContents contents;  ///< views into `bytes`

  [[nodiscard]] std::size_t memory_bytes() const {
    return sizeof(TreePage) + bytes.size() + contents.nodes.capacity() * sizeof(PageNode);
  }
};
using TreePagePtr = std::shared_ptr<const TreePage>;

/// One state of the main tree of a file, read by single pages. Those met last are kept, 4 MiB of
/// them: every look-up begins at the root, so the root and the levels below it stay. Thread-safe,
/// and never waits: who finds what is kept in use goes without it. So does a child whose parent was
/// forked while another thread used it.
class PagedTree {
 public:
  PagedTree(std::shared_ptr<const InputFile> file, const MetaPage& meta);

  [[nodiscard]] const std::shared_ptr<const InputFile>& file() const { return file_; }
  [[nodiscard]] const MetaPage& meta() const { return meta_; }
  /// In use, and whole in the file.
  [[nodiscard]] std::uint64_t pages() const { return pages_; }
  [[nodiscard]] std::uint64_t offset_of(std::uint64_t page) const {
    return page * meta_.page_bytes;
  }
  [[nodiscard]] int compare(Bytes a, Bytes b) const {
    return compare_keys(a, b, meta_.main_tree.flags);
  }

  /// A page of the tree. `level` is 1 at the root; `named_at` is the offset of what refers to the
  /// page. Errors: Code::damaged, with the place, for a page with any fault, keys that do not
  /// ascend, and one of another level; Code::io.
  [[nodiscard]] TreePagePtr page(std::uint64_t number, std::size_t level, std::uint64_t named_at);

 private:
  [[nodiscard]] TreePagePtr kept(std::uint64_t number);
  void keep(const TreePagePtr& page);
  [[nodiscard]] TreePagePtr read(std::uint64_t number, std::uint64_t named_at) const;
  void check_order(const TreePage& page) const;

  std::shared_ptr<const InputFile> file_;
  MetaPage meta_;
  std::uint64_t pages_ = 0;
  std::mutex mutex_;  // of all below
  std::size_t kept_bytes_ = 0;
  std::list<TreePagePtr> latest_;  // the latest in front
  std::unordered_map<std::uint64_t, std::list<TreePagePtr>::iterator> places_;
};

/// A path through a tree, from the root down to a level; empty for a tree without entries, or
/// without levels so high. Errors of all moves: those of PagedTree::page; the path is then as it
/// was.
class TreePath {
 public:
  enum class Side { front, back };
  struct Step {
    TreePagePtr page;
    std::size_t index = 0;

    [[nodiscard]] std::size_t count() const { return page->contents.nodes.size(); }
    [[nodiscard]] const PageNode& node() const { return page->contents.nodes[index]; }
  };

  /// Nowhere, and to be led down to the leaves, or to so many levels.
  TreePath(std::shared_ptr<PagedTree> tree, std::size_t levels)
      : tree_(std::move(tree)), levels_(levels) {}

  [[nodiscard]] bool is_empty() const { return steps_.empty(); }
  [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }
  [[nodiscard]] const Step& last() const { return steps_.back(); }
  /// Where in the file what a step points to is named.
  [[nodiscard]] std::uint64_t named_at(const Step& step) const {
    return tree_->offset_of(step.page->number) + step.node().begin;
  }

  /// From the root down; `choose` gives the index of a step in its page.
  template <class Choose>
  void descend(const Choose& choose) {
    std::vector<Step> steps;
    const MetaPage& meta = tree_->meta();
    if (meta.main_tree.root != kNoPage && levels_ > 0)
      steps.push_back({tree_->page(meta.main_tree.root, 1, meta.offset)});
    lead_down(steps, choose);
    steps_ = std::move(steps);
  }
  void descend_to_end(Side side) {
    descend([side](const Step& step) { return end_of(step, side); });
  }

  /// One step on, to the next page where there is one. The level that it turned at; nullopt, and no
  /// step, at the end.
  std::optional<std::size_t> advance(Side side);
  /// Whether there is no step beyond.
  [[nodiscard]] bool is_at_end(Side side) const { return !turning_level(side).has_value(); }

 private:
  [[nodiscard]] static std::size_t end_of(const Step& step, Side side) {
    return side == Side::front ? 0 : step.count() - 1;
  }
  [[nodiscard]] std::optional<std::size_t> turning_level(Side side) const;
  void check_follows(const Step& step, Side side) const;

  template <class Choose>
  void lead_down(std::vector<Step>& steps, const Choose& choose) const {
    if (steps.empty()) return;
    for (;;) {
      steps.back().index = choose(steps.back());
      if (steps.size() == levels_) return;
      const std::uint64_t named = named_at(steps.back());
      steps.push_back({tree_->page(steps.back().node().child, steps.size() + 1, named)});
    }
  }

  std::shared_ptr<PagedTree> tree_;
  std::size_t levels_;
  std::vector<Step> steps_;
};

}  // namespace shale::lmdb
