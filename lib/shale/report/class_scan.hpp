#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <vector>

#include "shale/numbers/bins.hpp"
#include "shale/report/column_scan.hpp"
#include "shale/report/report_json.hpp"

namespace shale {

/// The order of labels in brief: one of at most 512 equal runs of rows.
struct LabelRun {
  std::uint64_t first_row = 0;
  std::int64_t least = 0, median = 0, most = 0;
};

/// Counts classes, and how mixed their samples are, while labels come by in the order of the rows.
class ClassScan {
 public:
  /// More different labels than this are not classes.
  static constexpr std::size_t kMostLabels = std::size_t{1} << 18;

  explicit ClassScan(const ReportedSet& set);

  /// Of the field of labels.
  void take(const ScannedRows& rows, std::size_t field);
  /// False: there are too many different labels.
  [[nodiscard]] bool has_classes() const { return !is_full_; }
  [[nodiscard]] const std::map<std::int64_t, std::uint64_t>& counts() const { return counts_; }
  /// Classes by label, above 200 the first and the last hundred of them; then also how many have so
  /// many samples, and a list of at most 10,000, the largest first.
  [[nodiscard]] Json classes(SampledFrom from) const;
  /// Only of rows that were all looked at. The shuffle score is 0 if all samples of a class stand
  /// together, and 1 if they are as mixed as by chance: the share of neighbours with different
  /// labels, divided by what a random order is expected to have.
  [[nodiscard]] Json order(SampledFrom from) const;

 private:
  void add_label(std::uint64_t row, std::int64_t label);

  const ReportedSet& set_;
  std::map<std::int64_t, std::uint64_t> counts_;
  std::pair<std::int64_t, std::uint64_t*> last_count_{0, nullptr};
  bool is_full_ = false;
  std::uint64_t rows_in_run_;
  std::vector<std::int64_t> run_labels_;
  std::uint64_t neighbours_ = 0, differing_ = 0;  // pairs of adjacent rows, and of those the mixed
  std::vector<LabelRun> runs_;
  std::uint64_t last_row_ = 0;
  std::int64_t last_label_ = 0;
  bool has_last_ = false;
};

/// The facts of an order that has no score.
[[nodiscard]] Json order_without_score(std::string_view verdict, SampledFrom from);

/// The classes that get a row of their own in the contact sheets: all if there are few, else the
/// largest, the smallest and some between; the largest first, of equals the lower label.
[[nodiscard]] std::vector<std::int64_t> shown_classes(
    const std::map<std::int64_t, std::uint64_t>& counts, std::size_t most);

/// Collects rows of some classes while labels come by: of each the ones that were drawn first.
class ClassRows {
 public:
  ClassRows(const SampleRows& sample, std::span<const std::int64_t> labels, std::size_t most);
  void take(const ScannedRows& rows, std::size_t field);
  /// Those of a class, in the order of the draw.
  [[nodiscard]] std::vector<std::uint64_t> rows_of(std::int64_t label) const;

 private:
  const SampleRows& sample_;
  std::size_t most_;
  std::map<std::int64_t, std::vector<DrawnRow>> rows_;  // heaps: the last that was drawn on top
};

/// Calls `use(row, label)` for the labels of some rows.
template <class Use>
void for_each_label(const ScannedRows& rows, std::size_t field, Use&& use) {
  const NumberKind kind = rows.kinds[field];
  const std::size_t step = bytes_of_number(kind);
  const std::byte* at = rows.numbers[field].data();
  for (const std::uint64_t row : rows.rows) {
    use(row, whole_number_at(kind, at));
    at += step;
  }
}

}  // namespace shale
