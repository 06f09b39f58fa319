#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/io/input_file.hpp"
#include "shale/wire/msgpack_map.hpp"

#include "formats/lmdb/lmdb_tree.hpp"

// What scan and survey both read of an entry's value.

namespace shale::lmdb {

/// What a walk reads of values: headers, from place to place; all up to the last header, where the
/// headers are so close that the disk is done sooner with what lies between; everything.
enum class ValueReads { headers, up_to_headers, payload };

/// Reads the current entry: bytes in its leaf page are in memory, the rest is read through a
/// window. Not thread-safe; a view is valid until the next one.
class ValueReader {
 public:
  /// `pace` is borrowed, and steps as checksums are taken. `payload`, if there is one, reads the
  /// values, each of its bytes once and in order, but for the headers of those that are larger than
  /// a window.
  ValueReader(const InputFile& file, ValueReads reads, WalkPace& pace,
              const ViewBytes& payload = {});

  /// The entry that the views to come belong to.
  void enter(const TreeEntry& entry);
  [[nodiscard]] const ViewBytes& view() const { return view_; }
  /// crc32c of a place, a window at a time.
  [[nodiscard]] std::uint32_t checksum(const FieldPlace& place);

 private:
  [[nodiscard]] Bytes read(std::uint64_t offset, std::uint64_t length);

  std::uint64_t window_bytes_;
  ValueReads reads_;
  WalkPace& pace_;
  ViewBytes payload_;
  WindowReader window_;
  ViewBytes view_;
  bool is_whole_ = false;  // the value at hand is viewed as a whole
  Bytes page_;
  std::uint64_t page_offset_ = 0, last_ = 0;
};

/// True if an entry of a map can be a value of this field. What shale itself writes has one type
/// for each kind; other writers have str for bytes, booleans for integers and floats of 32 bits.
/// Of a tensor only that it is a map: see read_tensor.
[[nodiscard]] bool can_hold(const Field& field, const MsgpackEntry& entry, bool is_own);

/// {"dtype": str, "shape": array of integers, "data": bin}, as shale writes a tensor; or what
/// msgpack-numpy packs, as it writes a ragged one.
struct TensorValue {
  std::string dtype;
  std::vector<std::uint64_t> shape;
  FieldPlace data;
  bool is_ragged = false;  ///< as msgpack-numpy has it
};
/// Nullopt for a map of anything else; if not `is_own`, in any order, and str or bin all the same.
/// Errors: same as parse_msgpack_map.
[[nodiscard]] std::optional<TensorValue> read_tensor(const ViewBytes& view,
                                                     const MsgpackEntry& entry, bool is_own);

/// The entry of this name; null if there is none.
[[nodiscard]] const MsgpackEntry* find_entry(const std::vector<MsgpackEntry>& map,
                                             std::string_view name);

}  // namespace shale::lmdb
