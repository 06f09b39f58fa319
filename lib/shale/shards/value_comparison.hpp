#pragma once

#include <cstdint>
#include <optional>

#include "shale/data/shard_index.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {

/// Compares what a scan decodes with the file of values of the shard, if it has one. Not
/// thread-safe.
class ValueComparison {
 public:
  /// The shard outlives it.
  explicit ValueComparison(const ShardReader& shard);
  /// ShardInput::put_value: where the value is.
  [[nodiscard]] std::uint64_t put(Bytes value);
  /// The first value that is not there; after the last one of the shard also what is behind it.
  [[nodiscard]] std::optional<FieldPlace> first_wrong(bool is_all) const;

 private:
  [[nodiscard]] bool is_there(std::uint64_t offset, Bytes value);

  const InputFile* file_ = nullptr;  // null: there is none
  std::optional<WindowReader> window_;
  std::uint64_t end_ = 0;
  std::optional<FieldPlace> wrong_;
};

}  // namespace shale
