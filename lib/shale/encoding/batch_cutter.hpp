#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "shale/encoding/sample_loader.hpp"
#include "shale/flow/shared_budget.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// Refuses a sample that is more than the whole budget. `leaves_large`: as BatchCutter::Runs has
/// it. Errors: Code::limit.
void refuse_over_budget(const PendingSample& sample, const SourceInfo& source, bool leaves_large,
                        std::uint64_t memory_bytes);

/// Cuts a source into batches of consecutive samples and takes the lease of each, in input order:
/// were the workers to take them, later samples could hold the whole budget while the commit waits
/// for an earlier one. A sample larger than a batch is a batch alone, and one that is larger than
/// the budget stays unread where that is possible. Results never depend on where batches are cut.
class BatchCutter final : public BatchFeed {
 public:
  /// How runs of fixed rows are taken.
  struct Runs {
    bool are_encoded_whole = false;  ///< as one record each: a row costs no more than its bytes
    std::optional<std::uint64_t> rows_a_shard;  ///< no run goes across a multiple of it
    std::uint64_t first = 0;                    ///< number of the sample that the source gives next
    std::uint64_t left_out = 0;                 ///< of those before it
    bool leaves_large = false;  ///< samples that are larger than the budget may stay unread
  };
  /// `stop_if_asked` (may be null) comes before each sample: a source may read for it, slowly.
  BatchCutter(Source& source, SharedBudget& budget, unsigned jobs, Runs runs,
              std::function<void()> stop_if_asked = {});

  /// The next batch, if there is one, if the budget has room for it and if fewer than two per job
  /// (and two) are `in_flight`. With nothing in flight there is always room. Errors: Code::limit
  /// naming a sample that is larger than the budget.
  [[nodiscard]] std::optional<Batch> next(std::size_t in_flight) override;
  void recycle(Batch batch) override;

 private:
  // A buffer much larger than a batch, and the lease that covers it while nothing uses it.
  struct LargeBuffer {
    ReadBuffer buffer;
    SharedBudget::Hold lease;
  };

  void gather();
  [[nodiscard]] bool is_large(std::uint64_t bytes) const { return bytes > 2 * batch_bytes_; }
  [[nodiscard]] bool is_large(const Batch& batch) const {
    return !batch.leaves_large && is_large(batch.bytes);
  }
  [[nodiscard]] bool reuse_large_buffer(Batch& batch);
  [[nodiscard]] bool lease_for(Batch& batch);
  [[nodiscard]] std::uint64_t cost_unread() const;
  [[nodiscard]] std::uint64_t cost_of(const PendingSample& sample) const;
  [[nodiscard]] std::uint64_t most_rows() const;
  [[nodiscard]] std::uint64_t results_of(const PendingSample& sample) const;

  Source& source_;
  Runs runs_;
  SharedBudget& budget_;
  std::size_t most_in_flight_;
  std::uint64_t batch_bytes_;
  std::uint64_t batch_results_;  // of image work on the samples of a batch, about
  std::size_t most_shards_;      // that the samples of one batch may keep open
  std::optional<PendingSample>
      held_over_;                 // read from the source, belongs to the batch after `waiting_`
  std::optional<Batch> waiting_;  // cut, but there was no room for it yet
  std::uint64_t waiting_cost_ = 0, next_number_, left_out_;
  std::vector<ReadBuffer> buffers_;
  std::vector<LargeBuffer> large_buffers_;
  std::function<void()> stop_if_asked_;
};

}  // namespace shale
