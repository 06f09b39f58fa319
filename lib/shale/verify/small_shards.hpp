#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "shale/datasets/open_dataset.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/verify/verify_log.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// Proves that small shards are whole, each in one thread and many at a time: work on one of them
/// is not worth dividing. Of one that is not whole it says nothing: to find what is wrong is for
/// whoever goes through the shards in order.
class SmallShards {
 public:
  /// Called for each shard in order: true if it is proved, and false if it is large, or not whole.
  using Visit = std::function<void(std::uint64_t number, bool is_proved)>;

  /// True if the shards of this dataset may be proved in this way.
  [[nodiscard]] static bool can_prove(const VerifyRequest& request, const OpenedDataset& dataset);
  /// All outlive it.
  SmallShards(const VerifyRequest& request, const OpenedDataset& dataset, VerifyLog& log);
  ~SmallShards() { is_over_ = true; }
  SmallShards(const SmallShards&) = delete;
  SmallShards& operator=(const SmallShards&) = delete;

  /// Goes through all shards; the log learns the bytes of those that are proved. At most 384
  /// descriptors, and 1 MiB of memory per thread beside what a check takes. Errors:
  /// Code::interrupted; those of `visit`.
  void prove_all(const Visit& visit);

 private:
  // A shard whose files are open.
  struct Candidate {
    std::uint64_t number;
    ManifestShard shard;
    ShardFiles files;
  };
  struct Proof {
    bool is_whole = false;
    std::uint64_t bytes = 0;  ///< looked at
    std::uint64_t done = 0;   ///< for the progress
  };

  [[nodiscard]] std::uint64_t shards_at_once() const;
  [[nodiscard]] std::optional<Candidate> open(std::uint64_t number) const;
  void read_ahead(const std::vector<Candidate>& candidates, unsigned worker);
  [[nodiscard]] std::vector<Proof> prove(std::uint64_t begin, std::uint64_t end, unsigned worker);
  [[nodiscard]] Proof prove(Candidate candidate) const;
  std::uint64_t take(std::uint64_t number, const Visit& visit);

  const VerifyRequest& request_;
  const OpenedDataset& dataset_;
  VerifyLog& log_;
  unsigned jobs_;
  std::vector<std::unique_ptr<BatchReader>> readers_;  // of the threads
  std::atomic<bool> is_over_ = false;
  OrderedPipeline<std::vector<Proof>> pipeline_;  // last: its tasks use the others
};

}  // namespace shale
