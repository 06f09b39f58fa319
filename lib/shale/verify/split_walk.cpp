#include "shale/verify/split_walk.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"

namespace shale {
namespace {

// A range ends in the middle of a sample, whose other half is read with it: 3 % of it.
constexpr std::uint64_t kSamplesOfRange = 16;

}  // namespace

std::optional<SplitWalk> SplitWalk::open(const ShardCheck& check, const Format& format) {
  const ShardLayout& layout = check.manifest.layout;
  const bool can_split = format.split_scan != nullptr && layout.dialect == Dialect::own &&
                         layout.has_checksums && layout.rows.has_index() &&
                         check.reader.files().size() == 1;
  if (!can_split) return std::nullopt;
  const ShardInput input{.files = check.reader.files(),
                         .schema = check.manifest.schema,
                         .layout = layout,
                         .reads_payload = false,
                         .samples = check.reader.shard().digest.samples,
                         .bases = check.reader.shard().bases};
  SplitScan scan = format.split_scan(input);
  if (!scan.scan || scan.samples != input.samples) return std::nullopt;
  return SplitWalk(check, std::move(scan));
}

std::uint64_t SplitWalk::range_bytes(std::uint64_t unit) const {
  const std::uint64_t mean =
      check_->reader.files()[0].size() / std::max<std::uint64_t>(1, scan_.samples);
  const std::uint64_t units = (kSamplesOfRange * mean + unit - 1) / unit;
  return std::max<std::uint64_t>(1, units) * unit;
}

std::optional<ScanRows> SplitWalk::part_up_to(std::uint64_t byte) {
  if (!is_sound_) return std::nullopt;
  if (byte >= check_->reader.files()[0].size()) return part_to(scan_.samples);
  std::optional<ScanPoint> next;
  try {
    next = scan_.first_at(byte);
  } catch (const Error& error) {
    if (error.code() != Code::damaged) throw;  // else the whole walk meets it
  }
  is_sound_ = next && next->row >= row_ && next->row <= scan_.samples;
  if (!is_sound_) return std::nullopt;
  return part_to(next->row);
}

std::optional<ScanRows> SplitWalk::next_rows() {
  if (!is_sound_ || row_ == scan_.samples) return std::nullopt;
  return part_to(row_ + std::min(scan_.rows_at_once, scan_.samples - row_));
}

ScanRows SplitWalk::part_to(std::uint64_t end) {
  return {.begin = std::exchange(row_, end), .end = end};
}

bool SplitWalk::has_proved_all() const {
  return is_sound_ && row_ == scan_.samples && scan_.is_complete();
}

}  // namespace shale
