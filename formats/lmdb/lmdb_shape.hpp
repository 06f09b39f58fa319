#pragma once

#include <array>
#include <cstdint>

#include "formats/lmdb/lmdb_page.hpp"

namespace shale::lmdb {

inline constexpr std::uint64_t kPointerBytes = 2;  ///< a node's entry in the offsets of its page

/// True if the value lies on overflow pages, its leaf node holding their number.
[[nodiscard]] constexpr bool is_big(std::uint64_t key_bytes, std::uint64_t value_bytes) {
  return kNodeHeaderBytes + key_bytes + value_bytes > max_node_bytes(kPageBytes);
}
/// What a node takes of its page's room, the entry in the offsets left out.
[[nodiscard]] constexpr std::uint64_t leaf_node_bytes(std::uint64_t key_bytes,
                                                      std::uint64_t value_bytes) {
  const bool is_elsewhere = is_big(key_bytes, value_bytes);
  return even(kNodeHeaderBytes + key_bytes + (is_elsewhere ? sizeof(std::uint64_t) : value_bytes));
}
[[nodiscard]] constexpr std::uint64_t branch_node_bytes(std::uint64_t key_bytes) {
  return even(kNodeHeaderBytes + key_bytes);
}

/// How much of one page its nodes take.
class PageRoom {
 public:
  [[nodiscard]] bool is_empty() const { return used_ == 0; }
  [[nodiscard]] bool has_room(std::uint64_t node_bytes) const {
    return kPageHeaderBytes + used_ + kPointerBytes + node_bytes <= kPageBytes;
  }
  void add(std::uint64_t node_bytes) {
    used_ = static_cast<std::uint16_t>(used_ + kPointerBytes + node_bytes);
  }

 private:
  std::uint16_t used_ = 0;
};

/// The shape of the tree that LmdbPageWriter makes of entries, known from their sizes alone. It is
/// told each entry in order and touches no file and no heap: copy it to ask "and with one more?".
class LmdbShape {
 public:
  /// Keys of 1 to kMaxKeyBytes, values of up to kMaxValueBytes; unchecked.
  void add(std::uint64_t key_bytes, std::uint64_t value_bytes);
  /// The file if it were closed now. O(depth).
  [[nodiscard]] TreeStatistics closed() const;

 private:
  // The page of one level that is still open.
  struct OpenPage {
    PageRoom room;
    std::uint16_t first_key = 0, last_key = 0;  // bytes of the keys of its first and last node
  };

  void add_child(std::size_t level, std::uint64_t key_bytes);

  // A branch page has 8 nodes or more, so 2^64 bytes are fewer than 20 levels.
  std::array<OpenPage, 20> branches_ = {};  // [0]: above the leaves
  std::size_t levels_ = 0;                  // of branches_, in use
  OpenPage leaf_;
  TreeStatistics told_;  // without the open pages
};

}  // namespace shale::lmdb
