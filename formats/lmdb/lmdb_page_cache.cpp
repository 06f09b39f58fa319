#include "formats/lmdb/lmdb_page_cache.hpp"

namespace shale::lmdb {

TreePagePtr PageCache::find(std::uint64_t number) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return nullptr;
  const auto found = places_.find(number);
  if (found == places_.end()) return nullptr;
  pages_.splice(pages_.begin(), pages_, found->second);
  return pages_.front();
}

void PageCache::keep(const TreePagePtr& page) {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock || places_.contains(page->number)) return;
  pages_.push_front(page);
  places_.emplace(page->number, pages_.begin());
  kept_bytes_ += page->memory_bytes();
  while (kept_bytes_ > limit_bytes_ && pages_.size() > 1) {
    kept_bytes_ -= pages_.back()->memory_bytes();
    places_.erase(pages_.back()->number);
    pages_.pop_back();
  }
}

}  // namespace shale::lmdb
