#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shale/base/finding.hpp"
#include "shale/data/manifest.hpp"
#include "shale/shards/dataset_reader.hpp"

namespace shale {

/// Of the findings of one task that are kept, if only the first are wanted.
inline constexpr std::uint64_t kFirstFindings = 200;

/// What the workers of a deep check may hold: each a small sample, and one of them a large one.
struct SampleLimits {
  std::uint64_t small_bytes = 0, large_bytes = 0;
  mutable std::mutex one_large = {};
};

/// A shard being verified: its files open, the hashes that its blocks must have. Tasks share it, so
/// that nothing they use goes before they have ended.
struct ShardCheck {
  /// `manifest` and `is_over` outlive it: the second says that nobody waits for its tasks any more.
  ShardCheck(const Manifest& manifest, std::uint64_t first_sample, ShardReader reader,
             const std::atomic<bool>& is_over)
      : manifest(manifest),
        first_sample(first_sample),
        reader(std::move(reader)),
        is_over(is_over) {}

  const Manifest& manifest;
  std::uint64_t first_sample;  ///< number of row 0 in the dataset
  ShardReader reader;
  const std::atomic<bool>& is_over;
  std::vector<Hash128>
      blocks;  ///< of all its files, one after the other; empty if the block list is damaged
  std::vector<std::uint64_t> first_block;  ///< of each file, in `blocks`
  bool has_ordered_places = false;         ///< the values of a field lie in the order of the rows
  bool is_damaged = false;  ///< its bytes, or its index, are not as they were written
  SampleLimits limits;
  std::uint64_t kept_findings = kFirstFindings;  ///< of each task

  /// Errors: Code::interrupted if nobody waits for the tasks any more.
  void stop_if_over() const;
  /// A finding about this shard, with the sample's key if `row` is given and the key can be read.
  [[nodiscard]] Finding finding(std::string message, const std::string& file,
                                std::optional<std::uint64_t> offset,
                                std::optional<std::uint64_t> row = std::nullopt) const;
  /// The finding for a value (of a field, or the key) whose bytes have another crc32c than its
  /// place says.
  [[nodiscard]] Finding wrong_checksum(std::uint64_t row, std::optional<std::size_t> field,
                                       const FieldPlace& place, std::uint32_t found) const;
};

/// Of all files of a shard.
[[nodiscard]] std::uint64_t bytes_of_files(const ManifestShard& shard);

/// The findings of one task. Memory holds the first of them, the others are counted: damage may
/// make one for each row.
class TaskFindings {
 public:
  explicit TaskFindings(std::uint64_t most = kFirstFindings) : most_(most) {}
  /// `make` returns the finding. It is called only for one that is kept.
  template <class Make>
  void add(const Make& make) {
    if (count_++ < most_) kept_.push_back(make());
  }
  /// Those of the next task.
  void append(TaskFindings next) {
    count_ += next.count_;
    for (Finding& finding : next.kept_) {
      if (kept_.size() < most_) kept_.push_back(std::move(finding));
    }
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] std::vector<Finding>& kept() { return kept_; }

 private:
  std::uint64_t most_, count_ = 0;
  std::vector<Finding> kept_;
};

}  // namespace shale
