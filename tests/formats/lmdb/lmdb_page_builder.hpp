#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/lmdb/lmdb_page.hpp"

// LMDB files made page by page, of any page size and with any lie: what liblmdb would not write.

namespace shale::test {

/// One node, before it has a place in a page.
struct BuiltNode {
  std::string key = {};
  std::string value = {};        ///< of a leaf; with kBigData the number of the first page
  std::uint64_t child = 0;       ///< of a branch page
  std::uint64_t told_bytes = 0;  ///< with kBigData: bytes of the value
  std::uint16_t flags = 0;
};

template <class T>
void set_number(std::string& bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
}
template <class T>
T get_number(std::string_view bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

inline std::string page_header(std::uint64_t page_bytes, std::uint64_t number,
                               std::uint16_t flags) {
  std::string page(page_bytes, '\0');
  set_number(page, 0, number);
  set_number(page, 10, flags);
  return page;
}

/// A branch or leaf page; its nodes lie from the page's end downwards.
inline std::string tree_page(std::uint64_t page_bytes, std::uint64_t number, std::uint16_t flags,
                             const std::vector<BuiltNode>& nodes) {
  std::string page = page_header(page_bytes, number, flags);
  std::uint64_t upper = page_bytes, lower = lmdb::kPageHeaderBytes;
  for (const BuiltNode& node : nodes) {
    const bool is_leaf = flags == lmdb::kLeafPage;
    upper -= lmdb::even(lmdb::kNodeHeaderBytes + node.key.size() + node.value.size());
    const std::uint64_t low = !is_leaf                             ? node.child & 0xffff'ffff
                              : (node.flags & lmdb::kBigData) != 0 ? node.told_bytes
                                                                   : node.value.size();
    set_number(page, upper, static_cast<std::uint32_t>(low));
    set_number(page, upper + 4,
               static_cast<std::uint16_t>(is_leaf ? node.flags : node.child >> 32));
    set_number(page, upper + 6, static_cast<std::uint16_t>(node.key.size()));
    std::memcpy(page.data() + upper + 8, node.key.data(), node.key.size());
    std::memcpy(page.data() + upper + 8 + node.key.size(), node.value.data(), node.value.size());
    set_number(page, lower, static_cast<std::uint16_t>(upper));
    lower += 2;
  }
  set_number(page, 12, static_cast<std::uint16_t>(lower));
  set_number(page, 14, static_cast<std::uint16_t>(upper));
  return page;
}

/// A whole file, loaded from sorted entries.
class LmdbBuilder {
 public:
  explicit LmdbBuilder(std::uint64_t page_bytes) : page_bytes_(page_bytes) {
    pages_.resize(lmdb::kMetaPages);
  }

  std::string build(const std::vector<std::pair<std::string, std::string>>& entries) {
    std::vector<BuiltNode> level;
    for (const auto& [key, value] : entries) level.push_back(leaf_node(key, value));
    std::uint16_t flags = lmdb::kLeafPage;
    while (level.size() > 1 || (flags == lmdb::kLeafPage && !level.empty())) {
      level = add_level(level, flags);
      flags = lmdb::kBranchPage;
      ++depth_;
    }
    const std::uint64_t root = level.empty() ? lmdb::kNoPage : level[0].child;
    for (std::uint64_t number = 0; number < lmdb::kMetaPages; ++number) {
      pages_[number] = meta_page(number, number == 1, root, entries.size());
    }
    std::string bytes;
    for (const std::string& page : pages_) bytes += page;
    return bytes;
  }

 private:
  BuiltNode leaf_node(const std::string& key, const std::string& value) {
    if (8 + key.size() + value.size() <= lmdb::max_node_bytes(page_bytes_)) {
      return {.key = key, .value = value};
    }
    const std::uint64_t number = pages_.size();
    const std::uint64_t count = lmdb::overflow_pages(value.size(), page_bytes_);
    std::string extent = page_header(page_bytes_, number, lmdb::kOverflowPage);
    set_number(extent, 12, static_cast<std::uint32_t>(count));
    extent.resize(lmdb::kPageHeaderBytes);
    extent += value;
    extent.resize(count * page_bytes_);
    for (std::uint64_t i = 0; i < count; ++i) {
      pages_.push_back(extent.substr(i * page_bytes_, page_bytes_));
    }
    overflow_ += count;
    std::string place(8, '\0');
    set_number(place, 0, number);
    return {key, place, 0, value.size(), lmdb::kBigData};
  }

  // The pages that hold these nodes; the nodes of the level above.
  std::vector<BuiltNode> add_level(const std::vector<BuiltNode>& nodes, std::uint16_t flags) {
    const auto bytes_of_node = [&](std::size_t at) {
      const BuiltNode& node = nodes[at];
      return 2 + lmdb::even(lmdb::kNodeHeaderBytes + node.key.size() + node.value.size());
    };
    std::vector<BuiltNode> above;
    for (std::size_t at = 0; at < nodes.size();) {
      std::vector<BuiltNode> inside;
      std::uint64_t room = page_bytes_ - lmdb::kPageHeaderBytes;
      for (; at < nodes.size() && bytes_of_node(at) <= room; ++at) {
        // A branch page has two nodes at least: the last one is not left alone.
        const bool is_last_but_one = flags == lmdb::kBranchPage && at + 2 == nodes.size();
        if (is_last_but_one && inside.size() >= 2 &&
            bytes_of_node(at) + bytes_of_node(at + 1) > room) {
          break;
        }
        room -= bytes_of_node(at);
        inside.push_back(nodes[at]);
      }
      const std::string first_key = inside[0].key;
      if (flags == lmdb::kBranchPage) inside[0].key.clear();
      const std::uint64_t number = pages_.size();
      pages_.push_back(tree_page(page_bytes_, number, flags, inside));
      above.push_back({.key = first_key, .child = number});
      ++(flags == lmdb::kLeafPage ? leaves_ : branches_);
    }
    return above;
  }

  std::string meta_page(std::uint64_t number, bool is_live, std::uint64_t root,
                        std::uint64_t entries) const {
    std::string page = page_header(page_bytes_, number, lmdb::kMetaPage);
    set_number(page, 16, lmdb::kMagic);
    set_number(page, 20, lmdb::kVersion);
    set_number(page, 40, static_cast<std::uint32_t>(page_bytes_));
    set_number(page, 44, static_cast<std::uint16_t>(lmdb::kIntegerKey));
    set_number(page, 80, lmdb::kNoPage);
    set_number(page, 128, is_live ? root : lmdb::kNoPage);
    set_number(page, 136, is_live ? std::uint64_t{pages_.size()} - 1 : std::uint64_t{1});
    set_number(page, 144, std::uint64_t{is_live ? 1U : 0U});
    if (!is_live) return page;
    set_number(page, 94, static_cast<std::uint16_t>(depth_));
    set_number(page, 96, branches_);
    set_number(page, 104, leaves_);
    set_number(page, 112, overflow_);
    set_number(page, 120, entries);
    return page;
  }

  std::uint64_t page_bytes_;
  std::vector<std::string> pages_;
  std::uint64_t depth_ = 0, branches_ = 0, leaves_ = 0, overflow_ = 0;
};

}  // namespace shale::test
