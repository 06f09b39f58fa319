#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "shale/base/view_bytes.hpp"
#include "shale/format/format.hpp"
#include "shale/verify/index_window.hpp"
#include "shale/verify/shard_check.hpp"

namespace shale {

/// A run of bytes of one file of a shard, a whole number of blocks (but at the end of the file).
struct ByteRange {
  std::size_t file;
  std::uint64_t begin, end;
  std::uint64_t near_row = 0;  ///< the first that begins in it, or behind it, where that is known
};

/// The part of a field's value that lies in a range, where the value begins before it or ends after
/// it.
struct StraddlingPiece {
  std::optional<std::size_t> field;  ///< nullopt: the key
  std::uint64_t row;
  FieldPlace place;
  std::uint64_t length;  ///< of the piece
  std::uint32_t crc32c;  ///< of the piece
};

struct RangeResult {
  TaskFindings findings;
  std::vector<StraddlingPiece> pieces;  ///< by column, then by offset
  std::uint64_t bytes = 0;
};

/// Walks through samples while the bytes of their range are in memory. `view` gives any bytes of
/// the file: those of the range, in its order, without a read of their own; a view of more than 256
/// KiB, of bytes in front of the view before it, or of bytes that are not all in the range, is a
/// read. Throws what the view does.
using RangeWalk = std::function<void(const ViewBytes& view, IndexWindow& index)>;

/// Reads a range once, through the page cache and without a mapping; checks every block hash and
/// the crc32c of every value in it, while `walk`, if there is one, goes through it. Memory: 512 KiB
/// and a window on the index. Thread-safe.
[[nodiscard]] RangeResult verify_range(const ShardCheck& shard, const ByteRange& range,
                                       const RangeWalk& walk = {});

/// Joins the pieces of values that lie across ranges, in the order of the ranges, and checks them
/// when they are whole.
class StraddlingJoin {
 public:
  [[nodiscard]] std::vector<Finding> add(const ShardCheck& shard,
                                         const std::vector<StraddlingPiece>& pieces);

 private:
  std::vector<StraddlingPiece> open_;  // at most one per column
};

}  // namespace shale
