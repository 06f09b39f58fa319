#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "formats/lmdb/lmdb_node.hpp"

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

/// The pages met last, up to a number of bytes. Every look-up begins at the root, so the root and
/// the levels below it stay. Thread-safe and never waits: who finds it in use goes without it. So
/// does a child whose parent was forked while another thread used it.
class PageCache {
 public:
  explicit PageCache(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  /// Null if it is not here.
  [[nodiscard]] TreePagePtr find(std::uint64_t number);
  void keep(const TreePagePtr& page);

 private:
  std::mutex mutex_;
  std::size_t limit_bytes_, kept_bytes_ = 0;
  std::list<TreePagePtr> pages_;  // the latest in front
  std::unordered_map<std::uint64_t, std::list<TreePagePtr>::iterator> places_;
};

}  // namespace shale::lmdb
