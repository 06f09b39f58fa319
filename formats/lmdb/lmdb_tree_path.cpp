#include "formats/lmdb/lmdb_tree_path.hpp"

#include <algorithm>

#include "shale/base/error.hpp"

namespace shale::lmdb {
namespace {

constexpr std::size_t kMostKeptBytes = 4 << 20;

}  // namespace

PagedTree::PagedTree(std::shared_ptr<const InputFile> file, const MetaPage& meta)
    : file_(std::move(file)), meta_(meta) {
  pages_ = meta.pages_in(file_->size_now());
}

TreePagePtr PagedTree::page(std::uint64_t number, std::size_t level, std::uint64_t named_at) {
  TreePagePtr page = kept(number);
  if (page == nullptr) {
    page = read(number, named_at);
    keep(page);
  }
  // The depth is at most that of LMDB's own stack of pages, so no chain of pages is endless.
  if (page->contents.is_leaf != (level == meta_.main_tree.depth)) {
    throw Error(Code::damaged, "page {} is {} at level {} of a tree of {}", number,
                page->contents.is_leaf ? "a leaf" : "a branch", level, meta_.main_tree.depth)
        .at(file_->path(), offset_of(number));
  }
  return page;
}

TreePagePtr PagedTree::kept(std::uint64_t number) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return nullptr;
  const auto found = places_.find(number);
  if (found == places_.end()) return nullptr;
  latest_.splice(latest_.begin(), latest_, found->second);
  return latest_.front();
}

void PagedTree::keep(const TreePagePtr& page) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || places_.contains(page->number)) return;
  latest_.push_front(page);
  places_.emplace(page->number, latest_.begin());
  kept_bytes_ += page->memory_bytes();
  while (kept_bytes_ > kMostKeptBytes && latest_.size() > 1) {
    kept_bytes_ -= latest_.back()->memory_bytes();
    places_.erase(latest_.back()->number);
    latest_.pop_back();
  }
}

TreePagePtr PagedTree::read(std::uint64_t number, std::uint64_t named_at) const {
  if (number < kMetaPages || number >= pages_) {
    throw Error(Code::damaged, "refers to page {}, but the file has {} in use", number, pages_)
        .at(file_->path(), named_at);
  }
  auto page = std::make_shared<TreePage>();
  page->number = number;
  page->bytes.resize(meta_.page_bytes);
  file_->read_exact(offset_of(number), page->bytes);
  page->contents = read_page(page->bytes, number, [&](const PageFault& fault) {
    Error error(Code::damaged, "{} ({}, expected {})", fault.message, fault.found, fault.expected);
    throw std::move(error.at(file_->path(), offset_of(number) + fault.offset));
  });
  check_order(*page);
  return page;
}

// The first key of a branch page stands for none.
void PagedTree::check_order(const TreePage& page) const {
  const std::vector<PageNode>& nodes = page.contents.nodes;
  for (std::size_t i = page.contents.is_leaf ? 1 : 2; i < nodes.size(); ++i) {
    if (compare(nodes[i - 1].key, nodes[i].key) < 0) continue;
    throw Error(Code::damaged, "key '{}' does not follow the one before it, '{}'",
                shown_key(nodes[i].key), shown_key(nodes[i - 1].key))
        .at(file_->path(), offset_of(page.number) + nodes[i].begin);
  }
}

std::optional<std::size_t> TreePath::turning_level(Side side) const {
  for (std::size_t level = steps_.size(); level-- > 0;) {
    const Step& step = steps_[level];
    if (side == Side::back ? step.index + 1 < step.count() : step.index > 0) return level;
  }
  return std::nullopt;
}

std::optional<std::size_t> TreePath::advance(Side side) {
  const std::optional<std::size_t> level = turning_level(side);
  if (!level) return std::nullopt;
  const std::size_t step = side == Side::back ? 1 : std::size_t(-1);
  if (*level + 1 == steps_.size()) {
    steps_.back().index += step;
    return level;
  }
  std::vector<Step> steps(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(*level) + 1);
  steps.back().index += step;
  const std::uint64_t named = named_at(steps.back());
  steps.push_back({tree_->page(steps.back().node().child, steps.size() + 1, named)});
  const Side from = side == Side::back ? Side::front : Side::back;
  lead_down(steps, [from](const Step& below) { return end_of(below, from); });
  if (steps.back().page->contents.is_leaf) check_follows(steps.back(), side);
  steps_ = std::move(steps);
  return level;
}

// Keys ascend from leaf to leaf: a page that is met again would make an iteration endless.
void TreePath::check_follows(const Step& step, Side side) const {
  const std::vector<PageNode>& from = last().page->contents.nodes;
  const Bytes left = side == Side::back ? from.back().key : step.node().key;
  const Bytes right = side == Side::back ? step.node().key : from.front().key;
  if (tree_->compare(left, right) < 0) return;
  throw Error(Code::damaged, "page {}: its keys overlap those of a neighboring leaf",
              step.page->number)
      .at(tree_->file()->path(), tree_->offset_of(step.page->number));
}

}  // namespace shale::lmdb
