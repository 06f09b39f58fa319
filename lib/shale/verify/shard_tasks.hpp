#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "shale/flow/ordered_pipeline.hpp"
#include "shale/format/format.hpp"
#include "shale/verify/shard_check.hpp"
#include "shale/verify/split_walk.hpp"
#include "shale/verify/verify_bytes.hpp"
#include "shale/verify/verify_log.hpp"
#include "shale/verify/verify_request.hpp"
#include "shale/verify/verify_shard.hpp"

namespace shale {

/// Blocks [first, last) of a shard, whose files are numbered on from one to the next.
struct BlockRange {
  std::uint64_t first = 0, last = 0;
};

/// The schedule of a verification: cuts the work on one shard after the other into tasks, and takes
/// their results in the order of the shard, so that findings come in the same order for any number
/// of threads. Its owner's manifest and log outlive it; destroyed early, its tasks end at their
/// next step.
class ShardTasks {
 public:
  /// `workers`: threads; 0: the calling thread runs the tasks.
  ShardTasks(const VerifyRequest& request, const Format& format, VerifyLog& log, unsigned workers);
  ~ShardTasks() { is_over_ = true; }
  ShardTasks(const ShardTasks&) = delete;
  ShardTasks& operator=(const ShardTasks&) = delete;

  /// For ShardCheck: nobody waits for its tasks any more.
  [[nodiscard]] const std::atomic<bool>& is_over() const { return is_over_; }

  /// Blocks and values, one task per range. The walk through the container is a part of those
  /// tasks, or divided into tasks of its own, if the format has parts; else it goes on beside them,
  /// on a thread of its own. What the walk finds comes last, so that the order of the findings is
  /// always the same. Errors: Code::interrupted; Code::io.
  void prove_bytes(const std::shared_ptr<ShardCheck>& check);
  /// Some of its blocks, and the values that lie in them as a whole. Errors: same.
  void prove_blocks(const std::shared_ptr<ShardCheck>& check, const BlockRange& blocks);
  /// The digests of all samples, and their images. Errors: Code::interrupted; Code::limit;
  /// Code::io.
  void prove_digests(const std::shared_ptr<ShardCheck>& check);
  /// Before a fork: a child that is forked beside busy threads has their locks for ever (those of a
  /// sanitizer's allocator, say).
  void settle();

 private:
  // The result of one task of a shard, whichever kind it was.
  struct TaskResult {
    RangeResult range;
    std::optional<bool> is_part_sound;  // of a split walk; nullopt: it had none
    std::uint64_t walked_to = 0;        // bytes of the file, about, by a part of a split walk
    DeepResult deep;
  };
  // Nullopt: the shard is walked in one go.
  using Walk = std::optional<SplitWalk>;

  template <class Result>
  std::optional<Result> take_result(OrderedPipeline<Result>& pipeline, const std::string& shard);
  void begin_walk(const std::shared_ptr<ShardCheck>& check, bool reads_payload);
  void submit_ranges(const std::shared_ptr<ShardCheck>& check, std::size_t file, Walk& walk,
                     StraddlingJoin& join);
  [[nodiscard]] bool is_sound(const ShardCheck& check, const SplitScan& scan, const ScanRows& rows,
                              IndexWindow& index) const;
  void submit_rows(const std::shared_ptr<ShardCheck>& check, Walk& walk, StraddlingJoin& join);
  void walk_now(const ShardCheck& check, bool reads_payload);
  void take_ranges(const ShardCheck& check, StraddlingJoin& join, Walk& walk, std::size_t left);
  void take_digests(const ShardCheck& check, DatasetDigest& digest, std::size_t left);
  void compare_digest(const ShardCheck& check, DatasetDigest digest);
  [[nodiscard]] std::size_t most_in_flight() const { return std::size_t{workers_} * 2; }

  const VerifyRequest& request_;
  const Format& format_;
  VerifyLog& log_;
  unsigned workers_;
  std::atomic<bool> is_over_ = false;
  OrderedPipeline<TaskFindings> walk_;  // last: their tasks use the others
  OrderedPipeline<TaskResult> pipeline_;
};

}  // namespace shale
