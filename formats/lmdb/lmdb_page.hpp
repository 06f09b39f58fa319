#pragma once

#include <cstdint>

// clang-format off
//  An LMDB data file, format version 1 (liblmdb 0.9.x), little-endian, 64-bit. Pages of `psize` bytes, numbered from 0.
//
//  page header, 16 bytes                         node, at an even offset of its page
//  +0   u64 number of the page                   +0  u16 lo, u16 hi  leaf: bytes of the data; branch: page number, low 32 bits
//  +8   u16 pad (leaf2: bytes of a key)          +4  u16 flags       leaf: kBigData ...; branch: page number, bits 32 to 47
//  +10  u16 flags                                +6  u16 bytes of the key
//  +12  u16 lower: end of the node offsets       +8  the key, then (leaf) the data, or with kBigData a u64: the first overflow page
//  +14  u16 upper: begin of the nodes
//       (overflow: +12 u32 number of pages)      After the header the offsets of the nodes, u16 each, in key order;
//                                                the first node of a branch page has no key.
//  meta page (0 and 1), after the header
//  +16  u32 magic, u32 version                   tree, 48 bytes
//  +24  u64 address of a fixed map (0)           +0  u32 pad (tree 0: psize; dupfixed: bytes of a value), u16 flags, u16 depth
//  +32  u64 bytes of the map                     +8  u64 branch pages, u64 leaf pages, u64 overflow pages, u64 entries
//  +40  tree 0: free pages                       +40 u64 root page, all ones: the tree is empty
//  +88  tree 1: the entries
//  +136 u64 last page in use                     A value of a node larger than (psize - 16) / 2 - 2 bytes (header and key included)
//  +144 u64 transaction: the higher one counts   lies on overflow pages: their header once, then the data, contiguous.
//  Behind it, where liblmdb reads nothing, files of shale may have a note: u32 bytes, u32 crc32c, the note.
//
//  Sorted duplicates (kDupSort): the data of a node with kDupData is a sub-page, with kSubData also a tree of 48 bytes. Their keys are
//  the values of the node's key, without data. A sub-page is a page of the data's size, whose number counts for nothing, with kSubPage
//  and perhaps kDirtyPage. Of kDupFixed leaves of either are leaf2: the values one after the other behind the header, without nodes.
//
//  Free pages: entries of tree 0, key u64 transaction, data u64 count, then count page numbers, descending.
//  Source: liblmdb 0.9.24, mdb.c: MDB_page, MDB_node, MDB_meta, MDB_db, mdb_node_add, mdb_page_split.
// clang-format on

namespace shale::lmdb {

inline constexpr std::uint32_t kMagic = 0xBEEFC0DE, kVersion = 1;
inline constexpr std::uint64_t kPageHeaderBytes = 16, kNodeHeaderBytes = 8,
                               kMetaBytes = 152;  ///< of a meta page, its header included
/// The page size of every file that shale writes, whatever machine it runs on.
inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kMetaPages = 2;
/// Behind what liblmdb reads of a meta page: the note's length, its checksum, the note.
inline constexpr std::uint64_t kNoteHeadBytes = 8,
                               kMostNoteBytes = kPageBytes - kMetaBytes - kNoteHeadBytes;
inline constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
inline constexpr std::uint64_t kMaxKeyBytes = 511, kMaxValueBytes = 0xffff'ffff;
inline constexpr std::uint32_t kMaxDepth = 32;  ///< CURSOR_STACK

enum PageFlags : std::uint16_t {
  kBranchPage = 0x01,
  kLeafPage = 0x02,
  kOverflowPage = 0x04,
  kMetaPage = 0x08,
  kDirtyPage = 0x10,  ///< of a sub-page: left over
  kLeaf2Page = 0x20,
  kSubPage = 0x40,
};
enum NodeFlags : std::uint16_t { kBigData = 0x01, kSubData = 0x02, kDupData = 0x04 };
enum TreeFlags : std::uint16_t {
  kReverseKey = 0x02,
  kDupSort = 0x04,
  kIntegerKey = 0x08,
  kDupFixed = 0x10,
  kIntegerDup = 0x20,
  kReverseDup = 0x40,
};

/// What mdb_stat says of a tree, a walk has met, and the writer foretells.
struct TreeStatistics {
  std::uint64_t entries = 0, depth = 0, branch_pages = 0, leaf_pages = 0, overflow_pages = 0;
  friend bool operator==(const TreeStatistics&, const TreeStatistics&) = default;
  [[nodiscard]] std::uint64_t pages() const {
    return kMetaPages + branch_pages + leaf_pages + overflow_pages;
  }
  [[nodiscard]] std::uint64_t file_bytes() const { return pages() * kPageBytes; }
};

/// Nodes begin at even offsets.
[[nodiscard]] constexpr std::uint64_t even(std::uint64_t bytes) { return (bytes + 1) & ~1ULL; }
/// The largest node that stays in its leaf page: header, key and value. Source: mdb.c, me_nodemax.
[[nodiscard]] constexpr std::uint64_t max_node_bytes(std::uint64_t page_bytes) {
  return ((page_bytes - kPageHeaderBytes) / 2 & ~1ULL) - sizeof(std::uint16_t);
}
[[nodiscard]] constexpr std::uint64_t overflow_pages(std::uint64_t value_bytes,
                                                     std::uint64_t page_bytes) {
  return (kPageHeaderBytes - 1 + value_bytes) / page_bytes + 1;
}

}  // namespace shale::lmdb
