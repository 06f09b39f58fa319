#pragma once

#include <cstdint>

#include "shale/base/bytes.hpp"
#include "shale/base/view_bytes.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/key_map.hpp"
#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"

// What scan and survey both read of an entry's value.

namespace shale::layouts {

/// Where the value of an entry is. The view ends with the entry.
struct ValueExtent {
  Bytes page;                     ///< bytes that are in memory anyway, or none
  std::uint64_t page_offset = 0;  ///< of them in the file
  /// Contiguous; kMissing, after a finding, where the file does not hold it.
  std::uint64_t value_offset = kMissing;
  std::uint64_t value_bytes = 0;
};
[[nodiscard]] ValueExtent extent_of(const KeyMapEntry& entry);

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
  void enter(const ValueExtent& entry);
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

}  // namespace shale::layouts
