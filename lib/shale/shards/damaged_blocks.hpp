#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shale/shards/dataset_reader.hpp"

namespace shale {

/// Which blocks of the files of a shard are not those that were written: all that tells whole rows
/// from others where rows are fixed, and have no checksum of their own.
class DamagedBlocks {
 public:
  /// Reads the files that these fields lie in; they may be cut (ShardFiles::are_of_any_size).
  /// `stop_if_asked` is called before each block. A file of which the manifest has no hash counts
  /// as whole. Errors: Code::damaged for one that is damaged, where the list that would say in
  /// which block is damaged, too; Code::io.
  DamagedBlocks(const DatasetPaths& paths, const ShardReader& shard, const ShardLayout& layout,
                std::span<const std::size_t> fields, const std::function<void()>& stop_if_asked);

  [[nodiscard]] bool are_none() const;
  /// How many rows, at most `rows`, lie in whole blocks from `row` on, in all of these fields.
  [[nodiscard]] std::uint64_t whole_rows(const ShardReader& shard,
                                         std::span<const std::size_t> fields, std::uint64_t row,
                                         std::uint64_t rows) const;
  /// Where the first of these fields that is damaged in this row is so, in words; empty: it is
  /// whole.
  [[nodiscard]] std::string text(const ShardReader& shard, std::span<const std::size_t> fields,
                                 std::uint64_t row) const;

 private:
  // The first block from byte `begin` on, and before `end`, that is damaged; past them: there is
  // none.
  [[nodiscard]] std::uint64_t first_damaged(std::size_t field, std::uint64_t begin,
                                            std::uint64_t end) const;

  std::vector<std::size_t> file_of_field_;
  std::vector<std::vector<bool>> are_damaged_;  // the blocks of each file; none: all are whole
};

}  // namespace shale
