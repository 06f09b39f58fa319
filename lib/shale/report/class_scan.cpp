#include "shale/report/class_scan.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::size_t kShownClasses = 200, kListedClasses = 10'000;
constexpr std::uint64_t kRuns = 512;
// Below the first an order is taken for sorted, from the second on for shuffled.
constexpr double kSorted = 0.2, kMixed = 0.9;

// Of the last run, from its labels.
void close_run(std::vector<LabelRun>& runs, std::vector<std::int64_t> labels) {
  if (labels.empty()) return;
  LabelRun& run = runs.back();
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
    ++neighbours_;
    differing_ += last_label_ != label ? 1 : 0;
  }
  const bool is_new_run = has_last_ && last_row_ / rows_in_run_ != row / rows_in_run_;
  if (is_new_run) {
    close_run(runs_, std::exchange(run_labels_, {}));
  }
  if (run_labels_.empty()) runs_.push_back({.first_row = row});
  run_labels_.push_back(label);
  has_last_ = true;
  last_row_ = row;
  last_label_ = label;
}

Json ClassScan::classes(SampledFrom from) const {
  struct Class {
    std::int64_t label;
    std::uint64_t count;
  };
  std::vector<Class> all;
  const std::uint64_t named = is_full_ ? 0 : set_.manifest().classes.size();
  std::uint64_t empty = 0, without_class = 0;
  for (std::uint64_t i = 0; i < named; ++i) {
    const auto label = static_cast<std::int64_t>(i);
    const auto found = counts_.find(label);
    all.push_back({label, found == counts_.end() ? 0 : found->second});
  }
  for (const auto& [label, count] : counts_) {
    const bool is_named = label >= 0 && static_cast<std::uint64_t>(label) < named;
    if (is_named) continue;
    if (named > 0) without_class += count;
    all.push_back({label, count});
  }
  std::ranges::stable_sort(all, {}, &Class::label);
  RatioBins sizes;
  const Class* largest = nullptr;
  const Class* smallest = nullptr;
  for (const Class& one : all) {
    sizes.count(one.count);
    empty += one.count == 0 ? 1 : 0;
    if (one.count == 0) continue;
    if (largest == nullptr || largest->count < one.count) largest = &one;
    if (smallest == nullptr || smallest->count > one.count) smallest = &one;
  }
  const auto class_json = [&](const Class& one) {
    Json json = {{"label", one.label}, {"samples", one.count}};
    put_name(json, "name", set_.class_name(one.label));
    return json;
  };
  Json facts = {{"field", printable(set_.schema().fields[*set_.label_field()].name)},
                {"count", all.size()},
                {"empty", empty},
                {"without_class", without_class},
                {"from", json_of(from)},
                {"classes", Json::array()}};
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all.size() <= kShownClasses || i < kShownClasses / 2 || i + kShownClasses / 2 >= all.size())
      facts["classes"].push_back(class_json(all[i]));
  if (largest != nullptr) {
    facts["largest"] = class_json(*largest);
    facts["smallest"] = class_json(*smallest);
  }
  if (all.size() <= kShownClasses) return facts;
  std::ranges::stable_sort(all, std::greater<>{}, &Class::count);
  all.resize(std::min(all.size(), kListedClasses));
  facts["by_size"] = list_of(all, class_json);
  facts["sizes"] = histogram_json(sizes.bars(), {sizes.total(), sizes.total()}, "samples");
  return facts;
}

Json ClassScan::order(SampledFrom from) const {
  if (is_full_) return order_without_score("too many different labels for classes", from);
  std::vector<LabelRun> runs = runs_;
  close_run(runs, run_labels_);
  double all = 0, same = 0;
  for (const auto& [label, count] : counts_) {
    all += static_cast<double>(count);
    same += static_cast<double>(count) * (static_cast<double>(count) - 1);
  }
  const double expected = all >= 2 ? 1 - same / (all * (all - 1)) : 0;
  Json facts = {{"verdict", counts_.empty() ? "there are no labels" : "all samples have one label"},
                {"from", json_of(from)}};
  if (counts_.size() >= 2 && neighbours_ > 0) {
    const double score =
        static_cast<double>(differing_) / static_cast<double>(neighbours_) / expected;
    facts["verdict"] = score < kSorted  ? "sorted by class: shuffle when you read it"
                       : score < kMixed ? "partly sorted by class: shuffle when you read it"
                                        : "well mixed";
    if (std::isfinite(score)) facts["shuffle_score"] = score;
  }
  facts.update({{"neighbours", neighbours_},
                {"differing", differing_},
                {"expected_differing", expected},
                {"runs", list_of(runs, [](const LabelRun& run) {
                   return Json{run.first_row, run.least, run.median, run.most};
                 })}});
  return facts;
}

Json order_without_score(std::string_view verdict, SampledFrom from) {
  return {{"verdict", verdict}, {"from", json_of(from)},     {"neighbours", 0},
          {"differing", 0},     {"expected_differing", 0.0}, {"runs", Json::array()}};
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
