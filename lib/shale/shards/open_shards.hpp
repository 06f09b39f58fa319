#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/index_file.hpp"

namespace shale {

/// A shard that one thread reads rows of.
struct ShardCursor {
  explicit ShardCursor(std::uint64_t number, std::shared_ptr<const ShardReader> reader);

  std::uint64_t number;
  std::shared_ptr<const ShardReader> reader;
  std::optional<IndexReader> index;  ///< where there is one, as of
  std::optional<WindowReader> keys;  ///< the keys
};

/// The shards that one thread has open: a few, of which the first opened is closed for the next.
/// Whoever holds a reader keeps its files open.
class OpenShards {
 public:
  static constexpr std::size_t kMost = 4;
  /// All outlive it. `prove` is called for each shard that is opened for the first time, and may
  /// throw. `takes_any_size`: as ShardFiles::are_of_any_size.
  OpenShards(const DatasetPaths& paths, const Manifest& manifest, const ShardList& shards,
             std::function<void(const ShardReader&)> prove = {}, bool takes_any_size = false);

  /// Valid until kMost others have been asked for. Errors: same as ShardReader and ShardList; what
  /// `prove` throws.
  [[nodiscard]] ShardCursor& at(std::uint64_t number);

 private:
  const DatasetPaths& paths_;
  const Manifest& manifest_;
  const ShardList& shards_;
  std::function<void(const ShardReader&)> prove_;
  const bool takes_any_size_;
  std::vector<bool> is_proved_;
  std::deque<std::unique_ptr<ShardCursor>> open_;
};

}  // namespace shale
