#include "shale/verify/split_walk.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/verify/index_window.hpp"
#include "shale/verify/verify_shard.hpp"

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
  if (!scan.scan || scan.samples != input.samples || !has_class_names(check, format))
    return std::nullopt;
  return SplitWalk(check, std::move(scan));
}

std::uint64_t SplitWalk::range_bytes(std::uint64_t unit) const {
  if (!scan_.first_at) return unit;
  const std::uint64_t mean =
      check_->reader.files()[0].size() / std::max<std::uint64_t>(1, scan_.samples);
  const std::uint64_t units = (kSamplesOfRange * mean + unit - 1) / unit;
  return std::max<std::uint64_t>(1, units) * unit;
}

std::optional<ScanRows> SplitWalk::part_up_to(std::uint64_t byte) {
  if (!is_sound_) return std::nullopt;
  const std::uint64_t file_bytes = check_->reader.files()[0].size();
  if (byte >= file_bytes) return part_to({scan_.samples, file_bytes});
  std::optional<ScanPoint> end;
  try {
    end = scan_.first_at ? scan_.first_at(byte) : first_record_at(byte);
  } catch (const Error& error) {
    if (error.code() != Code::damaged) throw;  // else the whole walk meets it
  }
  is_sound_ = end && end->row >= next_.row && end->row <= scan_.samples;
  if (!is_sound_) return std::nullopt;
  return part_to(*end);
}

// As the index has it.
ScanPoint SplitWalk::first_record_at(std::uint64_t byte) const {
  IndexWindow index(check_->reader);
  const auto is_before = [&](std::uint64_t row) { return index.distant_record(row) < byte; };
  // Most often a few rows further on: steps that double, then halves.
  std::uint64_t low = next_.row, high = index.rows();
  for (std::uint64_t step = 1; low < high && high - low > step; step *= 2) {
    if (!is_before(low + step - 1)) {
      high = low + step - 1;
      break;
    }
    low += step;
  }
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (is_before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return {low, low < index.rows() ? index.distant_record(low) : check_->reader.files()[0].size()};
}

std::optional<ScanRows> SplitWalk::next_rows() {
  if (!is_sound_ || next_.row == scan_.samples) return std::nullopt;
  return part_to({next_.row + std::min(scan_.rows_at_once, scan_.samples - next_.row), 0});
}

ScanRows SplitWalk::part_to(const ScanPoint& end) {
  return {.begin = std::exchange(next_, end), .end = end};
}

bool SplitWalk::has_proved_all() const {
  return is_sound_ && next_.row == scan_.samples && scan_.is_complete();
}

}  // namespace shale
