#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/data/manifest.hpp"
#include "shale/data/sample.hpp"

namespace shale {

/// What a dataset is, from its manifest alone: no shard is opened.
struct DatasetInfo {
  bool is_complete = false;  ///< false: an unfinished run, all else is empty
  Manifest manifest;
  std::uint64_t file_bytes = 0, largest_file = 0;  ///< of shards with their indexes and block lists
};
/// Errors: Code::not_found, Code::unsupported for what is no dataset; as read_manifest.
[[nodiscard]] DatasetInfo inspect(const std::string& dataset);

/// One sample of a dataset, found by its row or by its key, and read by the index with its
/// checksums proved.
struct FoundSample {
  std::uint64_t row = 0;  ///< over the dataset
  std::string shard;
  std::uint64_t shard_row = 0;
  Schema schema;
  std::vector<std::string> classes;
  IndexRow place;
  Sample sample;  ///< points into `bytes`
  std::vector<std::byte> bytes;
};
/// Errors: Code::not_found with the number of rows, or naming the key; Code::damaged; Code::limit
/// if the sample is larger than `memory_bytes`.
[[nodiscard]] FoundSample find_row(const std::string& dataset, std::uint64_t row,
                                   std::uint64_t memory_bytes);
/// A key is searched by its hash in one index after the other.
[[nodiscard]] FoundSample find_key(const std::string& dataset, const std::string& key,
                                   std::uint64_t memory_bytes);

}  // namespace shale
