#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/flow/shared_budget.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// A stream of samples on its way to a pipeline, which runs in a thread of its own: whoever has
/// the samples pushes them, in order. Their bytes are copied, once, into batches that the budget
/// covers; a full batch is handed over as a whole. A sample that is more than the whole budget is
/// not copied: who adds it waits until it is written. How batches are cut depends on time, and
/// changes nothing of the result.
class SampleQueue final : public BatchFeed {
 public:
  /// `info`: of the stream before its first sample; its totals are those of the samples that are
  /// written already. `memory_bytes`: for all samples under way. `first_key`: what the very first
  /// sample is called, if it has no key. `most_samples`: of a batch, so that no shard of small
  /// samples that come slowly has to wait for more than its own.
  SampleQueue(SourceInfo info, std::uint64_t memory_bytes, unsigned jobs,
              std::uint64_t first_key = 0, std::uint64_t most_samples = ~std::uint64_t{0});

  // For whoever has the samples: any thread, one sample at a time. A sample without key gets its
  // number for one. After an error of try_add() or add() the sample is not in the stream.

  /// False if there is no room, or another thread is adding, or the sample is more than the whole
  /// budget: nothing has happened then. Errors: Code::usage after finish(); what fail() was told.
  [[nodiscard]] bool try_add(const Sample& sample);
  /// Waits for room; of a sample that is more than the whole budget, until it is written: to stop
  /// ends the stream then. Errors: same as try_add; Code::interrupted, as `events` says.
  void add(const Sample& sample, const Events& events);
  /// There are no more samples.
  void finish();
  /// The pipeline is to end, with Code::interrupted.
  void stop() noexcept;
  [[nodiscard]] bool is_stopped() const { return is_stopped_; }
  /// How many there are so far, those included that were written already.
  [[nodiscard]] std::uint64_t samples() const { return samples_; }

  // For the pipeline.

  /// Its totals are those of the batches that next() has handed out.
  [[nodiscard]] const SourceInfo& info() const { return info_; }
  [[nodiscard]] std::optional<Batch> next(std::size_t in_flight) override;
  void recycle(Batch batch) override;
  /// The pipeline has ended with an error: adding another sample throws it.
  void fail(std::exception_ptr error) noexcept;

 private:
  class Turn;

  [[nodiscard]] bool make_room(const Sample& sample);
  void put(const Sample& sample);
  void lend(const Sample& sample, const Events& events);
  void hand_over();
  [[nodiscard]] std::string key_of(const Sample& sample) const;
  void refuse_ended();
  void rethrow_failure();

  SourceInfo info_;  // its totals: the pipeline's thread alone
  const std::size_t most_in_flight_;
  SharedBudget budget_;
  const std::uint64_t batch_bytes_;
  const std::uint64_t first_key_, most_samples_;

  // Of whoever has the turn.
  std::optional<Batch> open_;  // the batch that is being filled
  std::uint64_t open_cost_ = 0;
  std::vector<Sample> emptied_;  // samples whose memory the next ones take
  bool is_closed_ = false;
  std::atomic<std::uint64_t> samples_;

  std::mutex mutex_;
  std::condition_variable is_ready_, has_room_, has_turn_;
  bool is_adding_ = false;
  std::deque<Batch> ready_;
  std::vector<ReadBuffer> buffers_;
  std::vector<std::vector<Sample>> spare_;  // samples of batches that are done with
  std::exception_ptr failure_;
  std::atomic<bool> has_failed_ = false;
  std::atomic<bool> is_stopped_ = false;
  bool is_finished_ = false;
  bool is_lending_ = false;  // a sample is on its way whose bytes are those of whoever added it
  std::uint64_t recycled_ = 0;
};

}  // namespace shale
