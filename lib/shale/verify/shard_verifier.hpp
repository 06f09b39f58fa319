#pragma once

#include <cstdint>
#include <memory>

#include "shale/datasets/open_dataset.hpp"
#include "shale/format/format.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/verify/shard_check.hpp"
#include "shale/verify/shard_tasks.hpp"
#include "shale/verify/verify_files.hpp"
#include "shale/verify/verify_log.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// Verifies shards of a dataset, one after the other: the files about them, their blocks, values
/// and structure.
class ShardVerifier {
 public:
  /// All outlive it. `workers` threads divide the work on a shard; 0: the calling thread does it.
  ShardVerifier(const VerifyRequest& request, const OpenedDataset& dataset, VerifyLog& log,
                unsigned workers);

  /// All that VerifyDepth::quick and VerifyDepth::full prove. `first_sample` is the number of its
  /// row 0 in the dataset; files that are in `opened` are not opened again. `blocks_to_read`: those
  /// that are read at VerifyDepth::quick. nullptr: one cannot be opened, which is among the
  /// findings. Errors: Code::interrupted; Code::io.
  std::shared_ptr<ShardCheck> verify(const ManifestShard& shard, std::uint64_t first_sample,
                                     ShardFiles opened = {}, BlockRange blocks_to_read = {});

  [[nodiscard]] FileChecks& files() { return files_; }
  [[nodiscard]] ShardTasks& tasks() { return tasks_; }

 private:
  [[nodiscard]] std::shared_ptr<ShardCheck> open(const ManifestShard& shard,
                                                 std::uint64_t first_sample,
                                                 ShardFiles opened) const;

  const VerifyRequest& request_;
  const OpenedDataset& dataset_;
  const Format& format_;
  VerifyLog& log_;
  FileChecks files_;
  ShardTasks tasks_;  // last: its tasks use the others
};

}  // namespace shale
