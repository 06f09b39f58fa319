#pragma once

#include <cstdint>
#include <deque>
#include <optional>

#include "shale/verify/shard_check.hpp"
#include "shale/verify/verify_shard.hpp"

namespace shale {

/// Cuts the walk through a shard into parts at records that the index names, and joins what they
/// found. The index may lie: a part counts only if the one before it, which counts, ended where it
/// began, at the same row and byte. So the whole is what one walk from the first byte would find,
/// whatever the index says. Not thread-safe.
class WalkJoin {
 public:
  /// `check` outlives it, and its index fits.
  explicit WalkJoin(const ShardCheck& check) : check_(&check) {}

  /// The first sample that begins at a byte or behind it, as the index has it: where the next part
  /// begins. Bytes ascend from call to call, from 0. Errors: Code::io.
  [[nodiscard]] ScanPoint first_sample_at(std::uint64_t byte);
  /// The part that begins at the oldest of these; nullopt: it was stopped.
  void append(std::optional<WalkedPart> part);

  /// The parts do not fit: from end() on the shard is to be walked in one go.
  [[nodiscard]] bool is_broken() const { return is_broken_; }
  /// How far the walk has been joined.
  [[nodiscard]] const ScanPoint& end() const { return end_; }
  void append_rest(WalkedPart rest);
  /// What was found, when all has been appended.
  [[nodiscard]] TaskFindings finish();

 private:
  [[nodiscard]] ScanPoint find_sample_at(std::uint64_t byte);

  const ShardCheck* check_;
  std::deque<ScanPoint> begins_;  // of parts that have not been appended
  std::uint64_t row_ = 0;         // of the last of all of them
  TaskFindings findings_;
  ScanPoint end_;
  bool is_lost_ = false, is_broken_ = false;
};

}  // namespace shale
