#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/data/manifest.hpp"
#include "shale/data/sample.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/format/file_contents.hpp"

namespace shale {

/// What a dataset is, from its manifest and the sizes of its files: no shard of shale's is opened.
struct DatasetInfo {
  bool is_complete = false;  ///< false: an unfinished run, all else is empty
  Manifest manifest;
  bool is_indexed = true;  ///< false: a file of another tool, surveyed for this alone
  std::uint64_t file_bytes = 0, largest_file = 0;  ///< of shards with their indexes and block lists
  std::vector<std::string> notes;                  ///< what of a file is left out
  /// Files of a dataset that are missing, or of another size than its manifest says: the first of
  /// them, and how many. They are not opened, and of more than kMostSizedFiles none is looked at.
  std::vector<ManifestFile> bad_files;
  std::uint64_t bad_file_count = 0;
  bool knows_files = true;  ///< false: there were too many
  /// Of a file of named arrays: all of them.
  std::optional<FileContents> contents = {};
  /// Why `contents` are not read in place as a table; then all but them is empty.
  std::optional<Error> obstacle = {};
  std::vector<std::string> commands = {};  ///< that convert such a file

  /// Inputs that are joined in place; a dataset that was written from such is none.
  [[nodiscard]] bool is_join() const;
};
/// `output`: what the commands that convert it call theirs. Errors: same as open_dataset.
[[nodiscard]] DatasetInfo inspect(const DatasetRequest& request, const Events& events,
                                  std::string_view output = "out");

/// One sample of a dataset, found by its row or by its key, and read by the index with its
/// checksums verified, if it has any. Values that are too large for the memory stay unread.
struct FoundSample {
  std::uint64_t row = 0;  ///< over the dataset
  std::string shard;
  std::uint64_t shard_row = 0;
  Schema schema;
  std::vector<std::string> classes;
  std::optional<std::size_t> label = {};  ///< the field that `classes` are of
  IndexRow place;
  Sample sample;  ///< points into `bytes`
  std::vector<std::byte> bytes;
  bool has_crc32c = true;
};
/// Errors: Code::not_found with the number of rows, or naming the key; Code::damaged; Code::limit
/// if what has to be in memory is larger than `request.memory_bytes`.
[[nodiscard]] FoundSample find_row(const DatasetRequest& request, std::uint64_t row,
                                   const Events& events);
/// A key is searched by its hash in one index after the other; where keys are the numbers of rows,
/// it is one.
[[nodiscard]] FoundSample find_key(const DatasetRequest& request, const std::string& key,
                                   const Events& events);

}  // namespace shale
