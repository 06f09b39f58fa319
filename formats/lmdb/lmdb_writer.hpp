#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shale/format/format.hpp"

#include "formats/lmdb/lmdb_meta.hpp"
#include "formats/lmdb/lmdb_page.hpp"
#include "formats/lmdb/lmdb_shape.hpp"

namespace shale::lmdb {

/// A leaf or branch page that is being filled in memory. Bytes that are not used are zero.
class NodePage {
 public:
  explicit NodePage(PageFlags kind) : kind_(kind) { clear(); }

  [[nodiscard]] std::size_t nodes() const { return nodes_; }
  [[nodiscard]] bool has_room(std::uint64_t node_bytes) const {
    return lower() + kPointerBytes + node_bytes <= upper_;
  }
  /// The key of a node, as stored in the page.
  [[nodiscard]] Bytes key(std::size_t node) const;
  /// The page that a node of a branch points to.
  [[nodiscard]] std::uint64_t child(std::size_t node) const;

  /// Adds a node of a leaf: its header and key. Returns where in the page `stored_bytes` of data
  /// are to be put, by put(). It must have room.
  std::uint64_t add_leaf_node(Bytes key, std::uint64_t stored_bytes, std::uint32_t value_bytes,
                              std::uint16_t flags);
  void add_branch_node(Bytes key, std::uint64_t child);
  void remove_last_branch_node();
  void put(std::uint64_t offset, Bytes bytes);

  /// Writes the number and the header. The bytes are valid until the next change.
  [[nodiscard]] Bytes finish(std::uint64_t number);
  void clear();

 private:
  [[nodiscard]] std::uint64_t lower() const { return kPageHeaderBytes + nodes_ * kPointerBytes; }
  [[nodiscard]] std::uint16_t node_offset(std::size_t node) const;
  std::uint64_t add_node(std::uint64_t node_bytes, std::uint16_t low, std::uint16_t high,
                         std::uint16_t flags, Bytes key);

  PageFlags kind_;
  std::size_t nodes_ = 0;
  std::uint64_t upper_ = kPageBytes;
  std::array<std::byte, kPageBytes> bytes_;
};

/// Writes an LMDB data file from its front to its end: leaf, branch and overflow pages once each,
/// in the order of the keys. A value is never held whole; memory is a page for each level of the
/// tree. The file can be opened, and written to, by liblmdb 0.9.
/// Source: liblmdb 0.9.24, mdb.c; judged by it in tests/formats/lmdb.
class LmdbPageWriter {
 public:
  enum class Place : std::uint8_t {
    file,  ///< the main tree, with meta pages
    node,  ///< of another writer of the same file, which is given what close_tree() returns
  };
  /// `file` outlives the writer, and is empty before the main tree. `flags`: TreeFlags.
  explicit LmdbPageWriter(OutputFile& file, std::uint16_t flags = 0, Place place = Place::file);
  /// The first meta page describes an empty file, as liblmdb leaves it, and not what the second
  /// does: by that a file of shale is told from any other. Before close().
  void leave_empty_state() { has_empty_state_ = true; }
  /// What both meta pages hold behind what liblmdb reads (lmdb_page.hpp). One that is too long is
  /// left out. Before close().
  void leave_note(std::string text) { note_ = std::move(text); }

  /// Adds an entry. Keys come in strictly ascending order, as the flags have it. Returns where
  /// values begin in the file, of zero or more entries, oldest first: a small value lies in a leaf
  /// page whose place is known only when it is full. Valid until the next call. Errors: Code::limit
  /// for a key that is empty or longer than kMaxKeyBytes, a value longer than kMaxValueBytes;
  /// Code::bug for a key that does not ascend, and after close(); Code::io.
  std::span<const std::uint64_t> add(Bytes key, const Blob& value);

  /// A large value in pieces, before its entry: begin_value() gives its page, which add_placed() is
  /// told; end_value() fills up the last page. Errors: Code::limit as add(); Code::io.
  [[nodiscard]] std::uint64_t begin_value(std::uint64_t value_bytes);
  void append_value(Bytes piece);
  void end_value(std::uint64_t value_bytes);
  /// An entry whose value is there. Errors: same as add().
  void add_placed(Bytes key, std::uint64_t page, std::uint64_t value_bytes);
  /// An entry that is a tree: a named database (kSubData), or the values of a key, which are the
  /// keys of that tree (and kDupData). Errors: same as add().
  void add_tree(Bytes key, const TreeRecord& tree, std::uint16_t node_flags);

  /// Writes the open pages alone: of a tree in a node. Errors: as close().
  TreeRecord close_tree();
  /// Writes the open pages and the meta pages. Returns the places that are still owed, as add()
  /// does. Call once. Errors: Code::bug if the file is not what LmdbShape foretold; Code::io.
  std::span<const std::uint64_t> close();

  /// What the file would be if it were closed now.
  [[nodiscard]] TreeStatistics statistics() const { return shape_.closed(); }

 private:
  // The open page of one level above the leaves.
  struct Branch {
    NodePage page{kBranchPage};
    std::vector<std::byte> first_key;  // in the page itself the first node has none
  };
  // A value whose place has not been returned: in the file, or in the open leaf.
  struct Owed {
    std::uint64_t offset;
    bool is_in_leaf;
  };

  void check_value(std::uint64_t value_bytes) const;
  void add_reference(Bytes key, std::uint64_t page, std::uint64_t value_bytes);
  void make_room(std::uint64_t node_bytes);
  void note_entry(Bytes key, std::uint64_t value_bytes);
  void check_entry(Bytes key, std::uint64_t value_bytes) const;
  void add_small(Bytes key, const Blob& value);
  void add_big(Bytes key, const Blob& value);
  void add_child(std::size_t level, std::vector<std::byte> key, std::uint64_t child);
  std::uint64_t emit(NodePage& page);
  std::uint64_t emit_leaf();
  void write_meta_pages(const TreeRecord& tree);
  [[nodiscard]] std::uint64_t next_page() const { return file_.size() / kPageBytes; }

  OutputFile& file_;
  Place place_;
  TreeRecord written_;
  std::uint64_t begin_, trees_ = 0, values_in_trees_ = 0;
  LmdbShape shape_;
  NodePage leaf_{kLeafPage};
  std::vector<Branch> branches_;  // [0]: above the leaves
  std::vector<std::byte> last_key_;
  std::vector<Owed> owed_;  // begins with one in the open leaf
  std::vector<std::uint64_t> released_;
  bool is_closed_ = false, has_empty_state_ = false;
  std::string note_;
};

}  // namespace shale::lmdb

namespace shale {

/// Keys are 8 digits, so a shard holds this many samples.
inline constexpr std::uint64_t kMaxLmdbSamples = 100'000'000;

[[nodiscard]] std::unique_ptr<ShardWriter> create_lmdb_shard(std::span<OutputFile> files,
                                                             const Schema& schema,
                                                             const OptionSet& options);

}  // namespace shale
