#include "shale/report/class_scan.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace shale {
namespace {

constexpr std::size_t kShownClasses = 200, kListedClasses = 10'000;
constexpr std::uint64_t kRuns = 512;
// Below the first an order is taken for sorted, from the second on for shuffled.
constexpr double kSorted = 0.2, kMixed = 0.9;

// Of the last run, from its labels.
void close_run(OrderFacts& order, std::vector<std::int64_t>& labels) {
  if (labels.empty()) return;
  OrderFacts::Run& run = order.runs.back();
  const auto middle = labels.begin() + static_cast<std::ptrdiff_t>(labels.size() / 2);
  std::nth_element(labels.begin(), middle, labels.end());
  run.median = *middle;
  run.least = *std::min_element(labels.begin(), middle + 1);
  run.most = *std::max_element(middle, labels.end());
}

}  // namespace

ClassScan::ClassScan(const ReportedSet& set)
    : set_(set), rows_in_run_(std::max<std::uint64_t>(1, (set.samples() + kRuns - 1) / kRuns)) {}

void ClassScan::take(const ScannedRows& rows, std::size_t field) {
  for_each_label(rows, field,
                 [&](std::uint64_t row, std::int64_t label) { add_label(row, label); });
}

void ClassScan::add_label(std::uint64_t row, std::int64_t label) {
  if (is_full_) return;
  if (last_count_.second == nullptr || last_count_.first != label)
    last_count_ = {label, &counts_[label]};
  ++*last_count_.second;
  is_full_ = counts_.size() > kMostLabels;
  if (is_full_) {
    counts_.clear();
    run_labels_ = {};
    return;
  }
  if (has_last_ && last_row_ + 1 == row) {
    ++order_.neighbours;
    order_.differing += last_label_ != label ? 1 : 0;
  }
  const bool is_new_run = has_last_ && last_row_ / rows_in_run_ != row / rows_in_run_;
  if (is_new_run) {
    close_run(order_, run_labels_);
    run_labels_.clear();
  }
  if (run_labels_.empty()) order_.runs.push_back({.first_row = row});
  run_labels_.push_back(label);
  has_last_ = true;
  last_row_ = row;
  last_label_ = label;
}

ClassFacts ClassScan::classes(SampledFrom from) const {
  ClassFacts facts;
  facts.field = set_.schema().fields[*set_.label_field()].name;
  facts.from = from;
  if (is_full_) return facts;
  const std::uint64_t named = set_.manifest().classes.size();
  const auto class_of = [&](std::int64_t label, std::uint64_t count) {
    return ClassCount{label, set_.class_name(label), count};
  };
  std::vector<ClassCount> all;
  all.reserve(counts_.size() + named);
  for (std::uint64_t i = 0; i < named; ++i) {
    const auto label = static_cast<std::int64_t>(i);
    const auto found = counts_.find(label);
    all.push_back(class_of(label, found == counts_.end() ? 0 : found->second));
  }
  for (const auto& [label, count] : counts_) {
    const bool is_named = label >= 0 && static_cast<std::uint64_t>(label) < named;
    if (is_named) continue;
    if (named > 0) facts.without_label += count;
    all.push_back(class_of(label, count));
  }
  std::ranges::stable_sort(all, {}, &ClassCount::label);
  facts.class_count = all.size();
  RatioBins sizes;
  for (const ClassCount& one : all) {
    sizes.count(one.count);
    facts.empty_classes += one.count == 0 ? 1 : 0;
    if (one.count == 0) continue;
    if (facts.largest.count < one.count) facts.largest = one;
    if (facts.smallest.count == 0 || facts.smallest.count > one.count) facts.smallest = one;
  }
  if (all.size() <= kShownClasses) {
    facts.classes = std::move(all);
    return facts;
  }
  facts.sizes = {.name = "samples per class",
                 .unit = "samples",
                 .is_logarithmic = true,
                 .bars = sizes.bars(),
                 .from = {all.size(), all.size()}};
  const auto half = static_cast<std::ptrdiff_t>(kShownClasses / 2);
  facts.classes.assign(all.begin(), all.begin() + half);
  facts.classes.insert(facts.classes.end(), all.end() - half, all.end());
  std::ranges::stable_sort(all, std::greater<>{}, &ClassCount::count);
  all.resize(std::min(all.size(), kListedClasses));
  facts.list = std::move(all);
  return facts;
}

OrderFacts ClassScan::order(SampledFrom from) const {
  if (is_full_) return {.verdict = "too many different labels for classes", .from = from};
  OrderFacts facts = order_;
  facts.from = from;
  std::vector<std::int64_t> last = run_labels_;
  close_run(facts, last);
  double all = 0, same = 0;
  for (const auto& [label, count] : counts_) {
    all += static_cast<double>(count);
    same += static_cast<double>(count) * (static_cast<double>(count) - 1);
  }
  if (all >= 2) facts.expected_differing = 1 - same / (all * (all - 1));
  if (counts_.size() < 2 || facts.neighbours == 0) {
    facts.verdict = counts_.empty() ? "there are no labels" : "all samples have one label";
    return facts;
  }
  const double differing =
      static_cast<double>(facts.differing) / static_cast<double>(facts.neighbours);
  facts.shuffle_score = differing / facts.expected_differing;
  facts.verdict = *facts.shuffle_score < kSorted ? "sorted by class: shuffle when you read it"
                  : *facts.shuffle_score < kMixed
                      ? "partly sorted by class: shuffle when you read it"
                      : "well mixed";
  return facts;
}

std::vector<std::int64_t> shown_classes(const std::map<std::int64_t, std::uint64_t>& counts,
                                        std::size_t most) {
  std::vector<std::pair<std::int64_t, std::uint64_t>> by_size(counts.begin(), counts.end());
  std::ranges::stable_sort(by_size,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::int64_t> labels;
  const std::size_t shown = std::min(most, by_size.size());
  labels.reserve(shown);
  for (std::size_t i = 0; i < shown; ++i) {
    const std::size_t rank =
        shown == by_size.size() || shown < 2 ? i : i * (by_size.size() - 1) / (shown - 1);
    labels.push_back(by_size[rank].first);
  }
  return labels;
}

ClassRows::ClassRows(const SampleRows& sample, std::span<const std::int64_t> labels,
                     std::size_t most)
    : sample_(sample), most_(most) {
  for (const std::int64_t label : labels) rows_[label].reserve(most + 1);
}

void ClassRows::take(const ScannedRows& rows, std::size_t field) {
  std::vector<std::uint64_t> positions;
  std::vector<std::pair<std::uint64_t, std::vector<DrawnRow>*>> wanted;
  for_each_label(rows, field, [&](std::uint64_t row, std::int64_t label) {
    const auto found = rows_.find(label);
    if (found == rows_.end()) return;
    positions.push_back(row);
    wanted.emplace_back(row, &found->second);
  });
  if (positions.empty()) return;
  sample_.positions_of(positions);
  const auto by_position = [](const DrawnRow& a, const DrawnRow& b) {
    return a.position < b.position;
  };
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto& [row, heap] = wanted[i];
    if (heap->size() == most_ && heap->front().position < positions[i]) continue;
    heap->push_back({row, positions[i]});
    std::ranges::push_heap(*heap, by_position);
    if (heap->size() <= most_) continue;
    std::ranges::pop_heap(*heap, by_position);
    heap->pop_back();
  }
}

std::vector<std::uint64_t> ClassRows::rows_of(std::int64_t label) const {
  const auto found = rows_.find(label);
  if (found == rows_.end()) return {};
  std::vector<DrawnRow> drawn = found->second;
  std::ranges::sort(drawn, {}, &DrawnRow::position);
  std::vector<std::uint64_t> rows;
  rows.reserve(drawn.size());
  for (const DrawnRow& row : drawn) rows.push_back(row.row);
  return rows;
}

}  // namespace shale
