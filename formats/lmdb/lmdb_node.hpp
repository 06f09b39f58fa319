#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"

// One page of a tree, taken apart: lmdb_page.hpp draws it.

namespace shale::lmdb {

/// One node of a page. Offsets count from the page's first byte and lie inside it.
struct PageNode {
  std::uint64_t begin = 0, end = 0;
  std::uint16_t flags = 0;  ///< of a leaf's node
  Bytes key = {};
  std::uint64_t key_begin = 0;
  std::uint64_t child = 0;        ///< branch: page number; leaf with kBigData: first overflow page
  std::uint64_t value_begin = 0;  ///< leaf without kBigData
  std::uint64_t value_bytes = 0;  ///< leaf
};

/// What is wrong with a page or node, with the place of it.
struct PageFault {
  std::string message, found, expected;
  std::uint64_t offset = 0;  ///< in the page
};

struct PageContents {
  bool is_leaf = false;
  std::vector<PageNode> nodes;  ///< in key order
  /// Nodes could not be read, or the bytes between them belong to none: what follows may lack some.
  bool has_loss = false;
};

/// What pages may be.
enum class PageOf : std::uint8_t {
  entries,   ///< a page of a tree
  values,    ///< of one whose keys are the values of a key: its leaves may be leaf2
  sub_page,  ///< the same in a node; has no number
};
/// Takes a page of a tree apart. A fault that leaves nothing to be trusted empties the nodes.
[[nodiscard]] PageContents read_page(Bytes page, std::uint64_t number,
                                     const std::function<void(PageFault)>& faults,
                                     PageOf kind = PageOf::entries);

/// How many overflow pages the header of the first one says that there are; nullopt for a page of
/// another kind or number.
[[nodiscard]] std::optional<std::uint64_t> overflow_pages_in(Bytes header, std::uint64_t number);

/// A key as a message shows it: no more than its first 64 bytes.
[[nodiscard]] std::string shown_key(Bytes key);

/// How the keys of a tree are ordered: memcmp and then length, or as the flags of the tree say.
/// Negative, zero or positive. Source: mdb.c, mdb_cmp_memn, mdb_cmp_memnr, mdb_cmp_cint.
[[nodiscard]] int compare_keys(Bytes a, Bytes b, std::uint16_t tree_flags);

}  // namespace shale::lmdb
