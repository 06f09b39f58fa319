#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/finding.hpp"
#include "shale/data/manifest.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {

/// A shard being verified: its files open, the hashes that its blocks must have.
struct ShardCheck {
  const Manifest& manifest;
  std::uint64_t first_sample;  ///< number of row 0 in the dataset
  ShardReader reader;
  std::vector<Hash128>
      blocks;  ///< of all its files, one after the other; empty if the block list is damaged
  std::vector<std::uint64_t> first_block;  ///< of each file, in `blocks`
  bool has_ordered_places;                 ///< the values of a field lie in the order of the rows

  /// A finding about this shard, with the sample's key if `row` is given and the key can be read.
  [[nodiscard]] Finding finding(std::string message, const std::string& file,
                                std::optional<std::uint64_t> offset,
                                std::optional<std::uint64_t> row = std::nullopt) const;
};

/// A run of bytes of one file of a shard, a whole number of blocks (but at the end of the file).
struct ByteRange {
  std::size_t file;
  std::uint64_t begin, end;
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
  std::vector<Finding> findings;
  std::vector<StraddlingPiece> pieces;  ///< by column, then by offset
  std::uint64_t bytes = 0;
};

/// Reads a range once, past no cache and through no mapping, and checks every block hash and the
/// crc32c of every value in it. Memory: 256 KiB and two windows on the index. Thread-safe.
[[nodiscard]] RangeResult verify_range(const ShardCheck& shard, const ByteRange& range);

/// Joins the pieces of values that lie across ranges, in the order of the ranges, and checks them
/// when they are whole.
class StraddlingJoin {
 public:
  [[nodiscard]] std::vector<Finding> add(const ShardCheck& shard,
                                         const std::vector<StraddlingPiece>& pieces);

 private:
  std::vector<StraddlingPiece> open_;  // at most one a column
};

}  // namespace shale
