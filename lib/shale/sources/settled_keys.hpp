#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "shale/datasets/opened_dataset.hpp"
#include "shale/shards/open_shards.hpp"

// Keys of datasets and of files of other tools, before they are written: each names one sample.

namespace shale {

/// Looks for two samples with the same key in files of other tools, before anything is written:
/// by the hashes of keys in their indexes, which are read once, and the keys whose hashes are
/// equal. Where the files of a set begin their keys again, they get prefixes; where one key
/// of a file has several values, they get numbers. An index may lie; the check of the keys that are
/// written (ShardSetWriter) has the last word. `scratch_folder` is for hashes that outgrow 4 MiB;
/// `stop_if_asked` is called again and again. Errors: Code::schema for two such samples of one
/// file; Code::damaged, Code::io.
void settle_keys(OpenedDataset& dataset, const std::string& scratch_folder,
                 const std::function<void()>& stop_if_asked);

/// The key of a row as the file has it. Errors: Code::damaged, Code::io.
[[nodiscard]] std::string key_at(const ShardReader& shard, IndexReader& index, std::uint64_t row);

/// Tells the rows apart whose key is one and the same in the file: they follow one another.
class RepeatedKeys {
 public:
  /// "/0", "/1" ...: the place of a row of a shard among those of its key. Time: a step for the row
  /// behind the last one, else logarithmic in their number.
  [[nodiscard]] std::string behind_key(ShardCursor& shard, std::uint64_t row);

 private:
  std::uint64_t shard_ = 0, row_ = 0, begin_ = 0, offset_ = ~std::uint64_t{0};  // of the last one
};

}  // namespace shale
