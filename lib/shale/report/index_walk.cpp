#include "shale/report/index_walk.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/shards/index_file.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostScanned = 100'000'000;
// More different labels than this are not classes.
constexpr std::size_t kMostLabels = std::size_t{1} << 18;
// How many classes get a row in the contact sheets, and how many samples a row has.
constexpr std::size_t kSheetClasses = 12, kSheetColumns = 8;
constexpr std::uint64_t kRowsAtOnce = 16'384, kBytesAtOnce = std::uint64_t{4} << 20;
constexpr std::uint64_t kNumberBytes = 8;  // in the index; in fixed rows at most

// What a number of the index, or of a located sample, is there.
NumberKind kind_in_index(const Field& field) {
  return field.kind == Kind::integer ? NumberKind::int64 : NumberKind::float64;
}

template <class T>
void append_bytes(std::vector<std::byte>& into, const T& value) {
  const Bytes bytes = bytes_of(value);
  into.insert(into.end(), bytes.begin(), bytes.end());
}

// What the index says of some rows; where rows are fixed, their numbers.
struct ScannedRows {
  std::vector<std::uint64_t> rows;              // ascending; adjacent ones if all are scanned
  std::vector<std::vector<std::byte>> numbers;  // by field: of integers and reals, else empty
  // By field: the rows that have a number, where some may lack it.
  std::vector<std::optional<std::vector<std::uint64_t>>> numbered;
  std::vector<NumberKind> kinds;  // what `numbers` are
  // By field, of what lies in the container: bytes; kMissing for a value that is not there.
  std::vector<std::vector<std::uint64_t>> lengths;

  // The rows whose numbers `numbers` has.
  [[nodiscard]] const std::vector<std::uint64_t>& rows_of(std::size_t field) const {
    return numbered[field] ? *numbered[field] : rows;
  }
  // Begins the list of rows that have a number; false: each has one.
  bool may_lack(std::size_t field, const Field& described) {
    if (described.is_optional) numbered[field].emplace();
    return described.is_optional;
  }
};

// Walks the index of a dataset without touching its payload, but for numbers that lie there. All
// rows are looked at up to kMostScanned, else a sample. Damage is met, and the rest of that shard
// passed over.
class ColumnScan {
 public:
  ColumnScan(ReportedSet& set, const SampleRows& sample)
      : set_(set), sample_(sample), is_all_(sample.is_all() || set.samples() <= kMostScanned) {
    if (set.manifest().layout.rows.has_index()) return;
    columns_.resize(set.schema().fields.size());
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Field& field = set.schema().fields[i];
      if (!is_located(field.kind)) columns_[i] = set.loader().column(field.name);
    }
  }

  [[nodiscard]] bool is_all() const { return is_all_; }
  // Those that the last walk handed out.
  [[nodiscard]] SampledFrom from() const { return {looked_at_, set_.samples()}; }

  // `wanted`: the fields that are of interest.
  void walk(const std::vector<bool>& wanted, const std::function<void(const ScannedRows&)>& use) {
    looked_at_ = 0;
    if (!is_all_) return walk_sample(wanted, use);
    for (std::uint64_t number = 0; number < set_.loader().shard_count(); ++number) {
      try {
        walk_shard(set_.loader().shard_line(number), wanted, use);
      } catch (const Error& error) {
        set_.meet(finding_of_damage(error));
      }
    }
  }

 private:
  void walk_shard(const ShardLine& line, const std::vector<bool>& wanted,
                  const std::function<void(const ScannedRows&)>& use) {
    const Manifest& manifest = set_.manifest();
    const bool is_fixed = !manifest.layout.rows.has_index();
    // Of fixed rows what is held: a number or a length per field.
    const std::uint64_t row_bytes =
        is_fixed ? kNumberBytes * std::max<std::uint64_t>(1, manifest.schema.fields.size())
                 : IndexColumns(manifest.schema, manifest.layout).row_bytes();
    const std::uint64_t at_once =
        std::clamp<std::uint64_t>(kBytesAtOnce / row_bytes, 1, kRowsAtOnce);
    for (std::uint64_t done = 0; done < line.samples;) {
      set_.events().stop_if_asked();
      const std::uint64_t count = std::min(at_once, line.samples - done);
      const std::uint64_t begin = line.first_row + done;
      use(is_fixed ? read_fixed(begin, count, wanted) : read_index(begin, count, wanted));
      looked_at_ += count;
      done += count;
    }
  }

  void walk_sample(const std::vector<bool>& wanted,
                   const std::function<void(const ScannedRows&)>& use) {
    const Schema& schema = set_.schema();
    sample_.for_each([&](const std::vector<DrawnRow>& drawn) {
      set_.events().stop_if_asked();
      std::vector<std::uint64_t> rows;
      rows.reserve(drawn.size());
      for (const DrawnRow& row : drawn) rows.push_back(row.row);
      FoundRows found = find_rows(set_.loader(), rows);
      for (Finding& finding : found.damage) set_.meet(std::move(finding));
      ScannedRows scanned = blank(0, 0);
      for (std::size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i] && !is_located(schema.fields[i].kind)) scanned.may_lack(i, schema.fields[i]);
      for (const LocatedSample& sample : found.samples) {
        scanned.rows.push_back(sample.row);
        for (std::size_t i = 0; i < wanted.size(); ++i) {
          if (!wanted[i]) continue;
          const IndexCell& cell = sample.place.cells[i];
          const Field& field = schema.fields[i];
          if (is_located(field.kind)) {
            scanned.lengths[i].push_back(cell.place.offset == kMissing ? kMissing
                                                                       : cell.place.length);
            continue;
          }
          scanned.kinds[i] = kind_in_index(field);
          if (cell.lacks_number) continue;
          if (scanned.numbered[i]) scanned.numbered[i]->push_back(sample.row);
          if (field.kind == Kind::integer)
            append_bytes(scanned.numbers[i], cell.integer);
          else
            append_bytes(scanned.numbers[i], cell.real);
        }
      }
      looked_at_ += scanned.rows.size();
      use(scanned);
    });
  }

  [[nodiscard]] ScannedRows read_index(std::uint64_t begin, std::uint64_t count,
                                       const std::vector<bool>& wanted) const {
    const Loader& loader = set_.loader();
    const Manifest& manifest = set_.manifest();
    const IndexColumns columns(manifest.schema, manifest.layout);
    // A column as wide as a row is the rows.
    const std::uint64_t row_bytes = columns.row_bytes();
    std::vector<std::byte> bytes(count * row_bytes);
    loader.read_column({"", 0, row_bytes}, begin, bytes);
    ScannedRows scanned = blank(begin, count);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i]) continue;
      const Field& field = manifest.schema.fields[i];
      const std::uint64_t position = columns.position_of(i);
      if (is_located(field.kind)) {
        scanned.lengths[i].reserve(count);
        for (std::uint64_t row = 0; row < count; ++row) {
          const FieldPlace place =
              columns.decode_place_at(Bytes(bytes).subspan(row * row_bytes, row_bytes), position);
          scanned.lengths[i].push_back(place.offset == kMissing ? kMissing : place.length);
        }
        continue;
      }
      scanned.kinds[i] = kind_in_index(field);
      const bool may_lack = scanned.may_lack(i, field);
      std::vector<std::byte>& numbers = scanned.numbers[i];
      numbers.reserve(count * kNumberBytes);
      for (std::uint64_t row = 0; row < count; ++row) {
        const Bytes number = Bytes(bytes).subspan(row * row_bytes + position);
        // Behind an optional number the index says whether there is one.
        if (may_lack && number[kNumberBytes] == std::byte{0}) continue;
        if (may_lack) scanned.numbered[i]->push_back(begin + row);
        numbers.insert(numbers.end(), number.begin(), number.begin() + kNumberBytes);
      }
    }
    return scanned;
  }

  [[nodiscard]] ScannedRows read_fixed(std::uint64_t begin, std::uint64_t count,
                                       const std::vector<bool>& wanted) const {
    ScannedRows scanned = blank(begin, count);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i]) continue;
      const Field& field = set_.schema().fields[i];
      if (is_located(field.kind)) {
        scanned.lengths[i].assign(count, fixed_bytes_of(field).value_or(0));
        continue;
      }
      const ColumnPlace& place = columns_[i];
      scanned.kinds[i] = number_kind_of(place.descr);
      scanned.numbers[i].resize(count * place.item_bytes);
      set_.loader().read_column(place, begin, scanned.numbers[i]);
    }
    return scanned;
  }

  [[nodiscard]] ScannedRows blank(std::uint64_t begin, std::uint64_t count) const {
    const std::size_t fields = set_.schema().fields.size();
    ScannedRows scanned;
    scanned.rows.resize(count);
    std::iota(scanned.rows.begin(), scanned.rows.end(), begin);
    scanned.numbers.resize(fields);
    scanned.numbered.resize(fields);
    scanned.lengths.resize(fields);
    scanned.kinds.resize(fields, NumberKind::none);
    return scanned;
  }

  ReportedSet& set_;
  const SampleRows& sample_;
  bool is_all_;
  std::vector<ColumnPlace> columns_;  // by field, where rows are fixed
  std::uint64_t looked_at_ = 0;
};

constexpr std::size_t kShownClasses = 200, kListedClasses = 10'000;
constexpr std::uint64_t kRuns = 512;
// Below the first an order is taken for sorted, from the second on for shuffled.
constexpr double kSorted = 0.2, kMixed = 0.9;

// The order of labels in brief: one of at most 512 equal runs of rows.
struct LabelRun {
  std::uint64_t first_row = 0;
  std::int64_t least = 0, median = 0, most = 0;
};

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

// Calls `use(row, label)` for the labels of some rows.
template <class Use>
void for_each_label(const ScannedRows& rows, std::size_t field, Use&& use) {
  const NumberKind kind = rows.kinds[field];
  const std::size_t step = bytes_of_number(kind);
  const std::byte* at = rows.numbers[field].data();
  for (const std::uint64_t row : rows.rows_of(field)) {
    use(row, whole_number_at(kind, at));
    at += step;
  }
}

// The facts of an order that has no score.
Json order_without_score(std::string_view verdict, SampledFrom from) {
  return {{"verdict", verdict}, {"from", json_of(from)},     {"neighbours", 0},
          {"differing", 0},     {"expected_differing", 0.0}, {"runs", Json::array()}};
}

// Counts classes, and how mixed their samples are, while labels come by in the order of the rows.
class ClassScan {
 public:
  explicit ClassScan(const ReportedSet& set)
      : set_(set), rows_in_run_(std::max<std::uint64_t>(1, (set.samples() + kRuns - 1) / kRuns)) {}

  // Of the field of labels.
  void take(const ScannedRows& rows, std::size_t field) {
    for_each_label(rows, field,
                   [&](std::uint64_t row, std::int64_t label) { add_label(row, label); });
  }

  // False: there are too many different labels.
  [[nodiscard]] bool has_classes() const { return !is_full_; }
  [[nodiscard]] const std::map<std::int64_t, std::uint64_t>& counts() const { return counts_; }

  [[nodiscard]] Json classes(SampledFrom from) const {
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
      if (all.size() <= kShownClasses || i < kShownClasses / 2 ||
          i + kShownClasses / 2 >= all.size())
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

  // Only of rows that were all looked at.
  [[nodiscard]] Json order(SampledFrom from) const {
    if (is_full_) return order_without_score("too many different labels for classes", from);
    std::vector<LabelRun> runs = runs_;
    close_run(runs, run_labels_);
    double all = 0, same = 0;
    for (const auto& [label, count] : counts_) {
      all += static_cast<double>(count);
      same += static_cast<double>(count) * (static_cast<double>(count) - 1);
    }
    const double expected = all >= 2 ? 1 - same / (all * (all - 1)) : 0;
    Json facts = {
        {"verdict", counts_.empty() ? "there are no labels" : "all samples have one label"},
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

 private:
  void add_label(std::uint64_t row, std::int64_t label) {
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

// The classes that get a row of their own in the contact sheets: all if there are few, else the
// largest, the smallest and some between; the largest first, of equals the lower label.
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

// Collects rows of some classes while labels come by: of each the ones that were drawn first.
class ClassRows {
 public:
  ClassRows(const SampleRows& sample, std::span<const std::int64_t> labels, std::size_t most)
      : sample_(sample), most_(most) {
    for (const std::int64_t label : labels) rows_[label].reserve(most + 1);
  }

  void take(const ScannedRows& rows, std::size_t field) {
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

  // Those of a class, in the order of the draw.
  [[nodiscard]] std::vector<std::uint64_t> rows_of(std::int64_t label) const {
    const auto found = rows_.find(label);
    if (found == rows_.end()) return {};
    std::vector<DrawnRow> drawn = found->second;
    std::ranges::sort(drawn, {}, &DrawnRow::position);
    std::vector<std::uint64_t> rows;
    rows.reserve(drawn.size());
    for (const DrawnRow& row : drawn) rows.push_back(row.row);
    return rows;
  }

 private:
  const SampleRows& sample_;
  std::size_t most_;
  std::map<std::int64_t, std::vector<DrawnRow>> rows_;  // heaps: the last that was drawn on top
};

// Sizes of the values of every field, and what the numbers among them are.
void take_fields(IndexWalk& walked, const ScannedRows& rows) {
  std::vector<std::uint64_t> bytes(rows.rows.size());
  for (std::size_t i = 0; i < walked.columns.size(); ++i) {
    WalkedColumn& column = walked.columns[i];
    for (std::size_t row = 0; row < rows.lengths[i].size(); ++row) {
      const std::uint64_t length = rows.lengths[i][row];
      if (length == kMissing) {
        ++column.missing;
        continue;
      }
      column.least = column.values == 0 ? length : std::min(column.least, length);
      column.most = std::max(column.most, length);
      column.bytes += length;
      ++column.values;
      bytes[row] += length;
    }
    if (rows.kinds[i] == NumberKind::none) continue;
    column.are_whole = is_whole(rows.kinds[i]);
    column.values += rows.rows_of(i).size();
    column.missing += rows.rows.size() - rows.rows_of(i).size();
    column.numbers.count(rows.kinds[i], rows.numbers[i]);
  }
  for (const std::uint64_t of_sample : bytes) walked.sample_bytes.count(of_sample);
}

}  // namespace

IndexWalk walk_index(ReportedSet& set, const SampleRows& sample) {
  const std::vector<Field>& fields = set.schema().fields;
  const std::optional<std::size_t> label = set.label_field();
  IndexWalk walked;
  walked.columns.resize(fields.size());
  ClassScan classes(set);
  ColumnScan scan(set, sample);
  scan.walk(std::vector<bool>(fields.size(), true), [&](const ScannedRows& rows) {
    take_fields(walked, rows);
    if (label) classes.take(rows, *label);
  });
  walked.from = scan.from();
  if (label) walked.classes = classes.classes(walked.from);
  walked.order = !label ? order_without_score("there are no labels", {})
                 : scan.is_all()
                     ? classes.order(walked.from)
                     : order_without_score("not looked at: there are too many samples", {});
  const bool has_classes = label && classes.has_classes();
  std::vector<std::int64_t> shown;
  if (has_classes) shown = shown_classes(classes.counts(), kSheetClasses);
  ClassRows class_rows(sample, shown, kSheetColumns);
  std::vector<bool> numbers(fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) numbers[i] = !is_located(fields[i].kind);
  for (WalkedColumn& column : walked.columns) column.begin_bins(column.are_whole);
  if (std::ranges::find(numbers, true) == numbers.end()) return walked;
  // The second walk, which knows the ranges and the classes.
  scan.walk(numbers, [&](const ScannedRows& rows) {
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (rows.kinds[i] != NumberKind::none)
        count_into(walked.columns[i].bins, rows.kinds[i], rows.numbers[i]);
    if (has_classes) class_rows.take(rows, *label);
  });
  for (const std::int64_t one : shown)
    walked.sheets.push_back({.kind = "class",
                             .caption = fmt::format("class {}", one),
                             .rows = class_rows.rows_of(one),
                             .of_samples = classes.counts().at(one),
                             .label = one});
  return walked;
}

}  // namespace shale
