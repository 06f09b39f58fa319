#include "shale/sampling/sample_rows.hpp"

#include <algorithm>
#include <utility>

namespace shale {
namespace {

constexpr std::uint64_t kMostHeld = std::uint64_t{1} << 20, kRowsInStep = 4096;

// Collects rows, and hands them out when there are enough.
class Together {
 public:
  explicit Together(const std::function<void(std::vector<DrawnRow>)>& use) : use_(use) {}
  void add(DrawnRow row) {
    held_.push_back(row);
    if (held_.size() == SampleRows::kAtOnce) hand_out();
  }
  void hand_out() {
    if (!held_.empty()) use_(std::exchange(held_, {}));
  }

 private:
  const std::function<void(std::vector<DrawnRow>)>& use_;
  std::vector<DrawnRow> held_;
};

}  // namespace

SampleRows::SampleRows(std::uint64_t rows, std::uint64_t wanted, std::uint64_t seed)
    : rows_(rows),
      size_(wanted == 0 ? rows : std::min(wanted, rows)),
      order_(std::max<std::uint64_t>(rows, 1), seed) {}

std::vector<std::uint64_t> SampleRows::first(std::uint64_t count) const {
  std::vector<std::uint64_t> rows(std::min(count, rows_));
  for (std::uint64_t i = 0; i < rows.size(); ++i) rows[i] = i;
  order_.at_each(rows);
  return rows;
}

void SampleRows::positions_of(std::span<std::uint64_t> rows) const { order_.inverse_each(rows); }

void SampleRows::for_each(const std::function<void(std::vector<DrawnRow>)>& use) const {
  Together together(use);
  if (!is_all() && size_ <= kMostHeld) {
    std::vector<std::uint64_t> rows = first(size_);
    std::vector<DrawnRow> drawn;
    drawn.reserve(rows.size());
    for (std::uint64_t i = 0; i < rows.size(); ++i) drawn.push_back({rows[i], i});
    std::ranges::sort(drawn, {}, &DrawnRow::row);
    for (const DrawnRow& row : drawn) together.add(row);
    return together.hand_out();
  }
  std::vector<std::uint64_t> positions;
  for (std::uint64_t begin = 0; begin < rows_; begin += positions.size()) {
    positions.resize(std::min(kRowsInStep, rows_ - begin));
    for (std::uint64_t i = 0; i < positions.size(); ++i) positions[i] = begin + i;
    positions_of(positions);
    for (std::uint64_t i = 0; i < positions.size(); ++i)
      if (positions[i] < size_) together.add({begin + i, positions[i]});
  }
  together.hand_out();
}

}  // namespace shale
