#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "shale/data/shard_index.hpp"
#include "shale/dataset.hpp"
#include "shale/datasets/opened_dataset.hpp"

namespace shale {

class BlockHashes;

struct LoaderRequest {
  std::string path;  ///< a dataset of shale, or a file of another tool
  /// Of a file: where its index is, and where it is made if it is missing or stale. Empty: an index
  /// beside the file is used, and must be fresh; if there is none, one is made in memory. An index
  /// that is fresh is never changed: one that was made in another way is refused.
  std::string index_folder = {};
  Parsing parsing = {};  ///< of a file: nothing: as its index says, else as it is recognized
  Proof proof = Proof::automatic;
  CachePolicy cache = CachePolicy::keep;
  std::string generator = {};
  /// Of a dataset that was opened before, in another process: Loader::self_hash() there. It must
  /// still be the same; if it was appended to since, only the samples of then are there. Empty:
  /// any.
  std::string opened_before = {};
  OpenInstead open_instead = {};  ///< `path` is only for messages then
};

/// How many a loader may have open.
inline constexpr std::size_t kMostDescriptors = 64;

/// Where one sample lies.
struct LocatedSample {
  std::uint64_t row = 0;    ///< over the dataset
  std::uint64_t shard = 0;  ///< number of the shard
  std::uint64_t shard_row = 0;
  IndexRow place;
};

/// One extent that is to be read, into as many bytes as it has.
struct Fetch {
  const LocatedSample* sample = nullptr;
  std::optional<std::size_t> field;  ///< of the schema; none: the key
  std::span<std::byte> into;
  std::optional<FieldPlace> element = {};  ///< of a list, by Loader::elements; none: all of it
  [[nodiscard]] const FieldPlace& place() const {
    if (element) return *element;
    return field ? sample->place.cells[*field].place : sample->place.key;
  }
};

/// A value that is read piece by piece.
struct OpenValue {
  LocatedSample sample;
  std::size_t field = 0;    ///< of the schema
  std::uint64_t bytes = 0;  ///< of the value
  /// Of the files of its shard, where all that is read is proved; null: nothing is.
  std::shared_ptr<const BlockHashes> blocks;
};

/// The first byte of a value.
struct ValueLocation {
  std::string file;
  std::uint64_t offset = 0;
};

/// A column of the index; or of values, where rows are fixed.
struct ColumnPlace {
  std::string descr;  ///< NumPy's name of its type
  std::uint64_t position = 0, item_bytes = 0;
  std::optional<std::size_t> field = {};  ///< whose values it is, where rows are fixed
};

}  // namespace shale
