#include "formats/lmdb/lmdb_shape.hpp"

namespace shale::lmdb {

void LmdbShape::add(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  const std::uint64_t node = leaf_node_bytes(key_bytes, value_bytes);
  if (!leaf_.room.has_room(node)) {
    ++told_.leaf_pages;
    add_child(0, leaf_.first_key);
    leaf_ = {};
  }
  if (leaf_.room.is_empty()) leaf_.first_key = static_cast<std::uint16_t>(key_bytes);
  leaf_.room.add(node);
  ++told_.entries;
  if (is_big(key_bytes, value_bytes))
    told_.overflow_pages += overflow_pages(value_bytes, kPageBytes);
}

TreeStatistics LmdbShape::closed() const {
  if (leaf_.room.is_empty()) return told_;
  LmdbShape closing = *this;
  ++closing.told_.leaf_pages;
  std::uint64_t key_bytes = leaf_.first_key;
  for (std::size_t level = 0; level < closing.levels_; ++level) {
    closing.add_child(level, key_bytes);
    ++closing.told_.branch_pages;
    key_bytes = closing.branches_[level].first_key;
  }
  closing.told_.depth = 1 + closing.levels_;
  return closing.told_;
}

// As LmdbPageWriter::add_child.
void LmdbShape::add_child(std::size_t level, std::uint64_t key_bytes) {
  for (;; ++level) {
    if (level == levels_) ++levels_;
    OpenPage& page = branches_[level];
    const bool is_first = page.room.is_empty();
    const std::uint64_t node = branch_node_bytes(is_first ? 0 : key_bytes);
    const auto key = static_cast<std::uint16_t>(key_bytes);
    if (page.room.has_room(node)) {
      page.room.add(node);
      if (is_first) page.first_key = key;
      page.last_key = key;
      return;
    }
    ++told_.branch_pages;
    OpenPage next{.room = {}, .first_key = page.last_key, .last_key = key};
    next.room.add(branch_node_bytes(0));
    next.room.add(node);
    key_bytes = page.first_key;
    page = next;
  }
}

}  // namespace shale::lmdb
