#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "shale/format/format.hpp"
#include "shale/verify/shard_check.hpp"

namespace shale {

/// The walk through a shard by a SplitScan: which rows each part has, and what came of them. Once
/// something is not as shale writes it there are no more parts: the shard is then walked in one go,
/// which says what is wrong. So the index may lie about where parts begin. Not thread-safe.
class SplitWalk {
 public:
  /// Nullopt where there are only whole scans of the shard. Errors: Code::io.
  [[nodiscard]] static std::optional<SplitWalk> open(const ShardCheck& check, const Format& format);

  [[nodiscard]] const SplitScan& scan() const { return scan_; }
  /// The parts go with ranges of bytes; else they are runs of rows.
  [[nodiscard]] bool follows_bytes() const { return scan_.rows_at_once == 0; }
  /// Bytes of a range that are a multiple of `unit`: so many that what is read twice, the rest of
  /// the sample at its end, is little beside it. One `unit` where parts begin at records, of which
  /// not the payload is read.
  [[nodiscard]] std::uint64_t range_bytes(std::uint64_t unit) const;

  /// The next part: rows up to the first one at this byte; of all rows that are left, where the
  /// file ends there. Nullopt: there are no more.
  [[nodiscard]] std::optional<ScanRows> part_up_to(std::uint64_t byte);
  /// The next part where they are runs of rows.
  [[nodiscard]] std::optional<ScanRows> next_rows();

  /// What came of a part.
  void append(bool is_sound) { is_sound_ = is_sound_ && is_sound; }
  /// When every part has been appended: whether a whole walk would find nothing.
  [[nodiscard]] bool has_proved_all() const;

 private:
  SplitWalk(const ShardCheck& check, SplitScan scan) : check_(&check), scan_(std::move(scan)) {}
  [[nodiscard]] ScanPoint first_record_at(std::uint64_t byte) const;
  [[nodiscard]] ScanRows part_to(const ScanPoint& end);

  const ShardCheck* check_;
  SplitScan scan_;
  ScanPoint next_;  // where the next part begins
  bool is_sound_ = true;
};

}  // namespace shale
