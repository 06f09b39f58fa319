#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/format.hpp"
#include "shale/shards/index_file.hpp"

namespace shale {

/// Where the rows of a shard under way come to lie, as its format tells it: a row of an index for
/// each sample, written as soon as its place is known, or where each field begins.
class ShardPlaces {
 public:
  /// `layout` and `format` outlive it. No `index`: rows are fixed, or nobody wants one.
  ShardPlaces(const ShardLayout& layout, std::string_view format, std::optional<IndexWriter> index)
      : layout_(layout), format_(format), index_(std::move(index)) {}

  /// The row of a record that is given to the format next.
  void add(const IndexRow& row) {
    if (index_) unplaced_.push_back(row);
  }
  /// Gives the oldest rows without places theirs: what ShardWriter::append returned. Errors:
  /// Code::bug for places of rows that were not added.
  void place(std::span<const std::uint64_t> offsets);
  /// What the format said last; then finishes the index. Fills in index or bases of the shard,
  /// whose name is known. Errors: Code::bug if a row has no place.
  void finish(const ClosedShard& closed, ManifestShard& shard);

 private:
  [[nodiscard]] std::span<const std::uint64_t> field_bases(std::span<const std::uint64_t> parts);

  const ShardLayout& layout_;
  std::string_view format_;
  std::optional<IndexWriter> index_;
  std::deque<IndexRow> unplaced_;
  std::vector<std::uint64_t> field_bases_;
};

}  // namespace shale
