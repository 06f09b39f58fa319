#include "shale/verify/walk_join.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"

namespace shale {

ScanPoint WalkJoin::first_sample_at(std::uint64_t byte) {
  try {
    begins_.push_back(find_sample_at(byte));
  } catch (const Error& error) {
    if (error.code() != Code::damaged) throw;
    begins_.push_back({kMissing, kMissing});  // where no part ends: the rest of the walk says why
  }
  return begins_.back();
}

ScanPoint WalkJoin::find_sample_at(std::uint64_t byte) {
  IndexWindow index(check_->reader);
  const auto is_before = [&](std::uint64_t row) { return index.distant_record(row) < byte; };
  // Most often a few rows further on: steps that double, then halves.
  std::uint64_t low = row_, high = index.rows();
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
  row_ = low;
  return {low, low < index.rows() ? index.distant_record(low) : check_->reader.files()[0].size()};
}

void WalkJoin::append(std::optional<WalkedPart> part) {
  const ScanPoint begin = begins_.front();
  begins_.pop_front();
  if (is_lost_ || is_broken_) return;
  if (!part || begin != end_) {
    is_broken_ = true;
    return;
  }
  append_rest(std::move(*part));
}

void WalkJoin::append_rest(WalkedPart rest) {
  findings_.append(std::move(rest.findings));
  end_ = rest.scanned.end;
  is_lost_ = rest.scanned.is_lost;
}

TaskFindings WalkJoin::finish() {
  add_wrong_count(*check_, end_.row, findings_);
  return std::move(findings_);
}

}  // namespace shale
