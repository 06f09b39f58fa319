#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "shale/flow/ordered_pipeline.hpp"
#include "shale/format/format.hpp"
#include "shale/verify/shard_check.hpp"
#include "shale/verify/verify_bytes.hpp"
#include "shale/verify/verify_log.hpp"
#include "shale/verify/verify_request.hpp"
#include "shale/verify/verify_shard.hpp"

namespace shale {

/// The schedule of a verification: cuts the work on one shard after the other into tasks, and takes
/// their results in the order of the shard, so that findings come in the same order for any number
/// of threads. Its owner's manifest and log outlive it; destroyed early, its tasks end at their
/// next step.
class ShardTasks {
 public:
  ShardTasks(const VerifyRequest& request, const Format& format, VerifyLog& log);
  ~ShardTasks() { is_over_ = true; }
  ShardTasks(const ShardTasks&) = delete;
  ShardTasks& operator=(const ShardTasks&) = delete;

  /// For ShardCheck: nobody waits for its tasks any more.
  [[nodiscard]] const std::atomic<bool>& is_over() const { return is_over_; }

  /// Blocks and values, one task per range; beside them, on a thread of its own, the walk through
  /// the container. What the walk finds comes last, so that the order of the findings is always the
  /// same. Errors: Code::interrupted; Code::io.
  void prove_bytes(const std::shared_ptr<ShardCheck>& check);
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
    DeepResult deep;
  };

  template <class Result>
  std::optional<Result> take_result(OrderedPipeline<Result>& pipeline, const std::string& shard);
  void begin_walk(const std::shared_ptr<ShardCheck>& check, bool reads_payload);
  void walk_now(const ShardCheck& check, bool reads_payload);
  void take_ranges(const ShardCheck& check, StraddlingJoin& join, std::size_t left);
  void take_digests(const ShardCheck& check, DatasetDigest& digest, std::size_t left);
  void compare_digest(const ShardCheck& check, DatasetDigest digest);
  [[nodiscard]] std::size_t most_in_flight() const { return std::size_t{jobs_} * 2; }

  const VerifyRequest& request_;
  const Format& format_;
  VerifyLog& log_;
  unsigned jobs_;
  std::atomic<bool> is_over_ = false;
  OrderedPipeline<TaskFindings> walk_{1};  // last: their tasks use the others
  OrderedPipeline<TaskResult> pipeline_;
};

}  // namespace shale
