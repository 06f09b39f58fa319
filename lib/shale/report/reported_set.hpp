#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/base/finding.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/flow/shared_budget.hpp"
#include "shale/loading/loader.hpp"
#include "shale/sources/input_request.hpp"

namespace shale {

/// What a report is to be made of: plain data, nothing opened.
struct ReportRequest {
  std::string dataset;            ///< a dataset of shale, or a file of another tool
  std::string index_folder = {};  ///< of a file of another tool
  Parsing parsing = {};           ///< of a file of another tool
  /// Samples that are read for what neither index nor manifest says; 0: all of them.
  std::uint64_t sample = kUsualSample;
  std::optional<InputRequest> joined = {};  ///< these inputs: `dataset` is only for messages then
  std::optional<InputRequest> listed = {};  ///< `dataset`, if it is listed (is_listed_input)
  bool verifies = false;                    ///< as `shale verify` does, before anything else
  std::string generator = {};
  unsigned jobs = 1;
  std::uint64_t memory_bytes = 256 << 20;

  static constexpr std::uint64_t kUsualSample = 10'000;
};

/// The seed of whatever a report draws: reports of one set show the same samples.
inline constexpr std::uint64_t kReportSeed = 22;

/// A dataset while a report is made of it. Damage does not end the work: it is met, and told at the
/// end.
class ReportedSet {
 public:
  /// Opens it. Errors: same as Loader.
  ReportedSet(const ReportRequest& request, const Events& events);

  [[nodiscard]] const ReportRequest& request() const { return request_; }
  [[nodiscard]] const Events& events() const { return events_; }
  [[nodiscard]] const Loader& loader() const { return loader_; }
  [[nodiscard]] const Manifest& manifest() const { return loader_.manifest(); }
  [[nodiscard]] const Schema& schema() const { return manifest().schema; }
  [[nodiscard]] std::uint64_t samples() const { return loader_.size(); }
  /// Values of all threads at once, and what image work takes beside them.
  [[nodiscard]] SharedBudget& values_budget() const { return *values_budget_; }
  [[nodiscard]] SharedBudget& work_budget() const { return *work_budget_; }
  /// A value with more bytes is not read.
  [[nodiscard]] std::uint64_t most_value_bytes() const { return most_value_bytes_; }
  /// The field of integers that says what class a sample is of; nullopt: there is none.
  [[nodiscard]] std::optional<std::size_t> label_field() const { return label_field_; }
  /// The name of a class; empty: none known.
  [[nodiscard]] std::string class_name(std::int64_t label) const;

  /// Takes note of damage, one finding per cause: what is wrong with a file as a whole, or with an
  /// index, is told once, however many samples it costs; damage within a file once per place. For
  /// the main thread.
  void meet(Finding finding);
  [[nodiscard]] const std::vector<Finding>& met() const { return met_; }
  /// It is of what a file was unpacked into, because no samples can be located in it.
  [[nodiscard]] bool is_unpacked() const { return is_unpacked_; }
  /// A path below the dataset as it is named there.
  [[nodiscard]] std::string relative(const std::string& path) const;

 private:
  Loader open();

  ReportRequest request_;
  const Events& events_;
  bool is_unpacked_ = false;
  Loader loader_;
  std::unique_ptr<SharedBudget> values_budget_, work_budget_;
  std::uint64_t most_value_bytes_ = 0;
  std::optional<std::size_t> label_field_;
  std::vector<Finding> met_;
  std::map<std::string, std::size_t> told_;  // cause -> its number in met_
};

/// The lists beside the shards (skipped.csv, ignored.csv, images.csv, duplicates.csv), of which
/// only those are read that are what the manifest says. The others are damage that is met, and
/// known by name.
class ProvedLists {
 public:
  /// Reads all of them, for their hashes. Errors: same as finding_of_damage.
  explicit ProvedLists(ReportedSet& set);

  /// Rows of the whole lists of this name, one list after the other, without their headers: two
  /// fields at least. Errors: same as finding_of_damage.
  using UseRow = std::function<void(const std::vector<std::string>& fields)>;
  void read(std::string_view list, const UseRow& use) const;
  /// The first whole list of this name; empty: there is none.
  [[nodiscard]] std::string first_of(std::string_view list) const;
  /// Lists that are not what the manifest says.
  [[nodiscard]] const std::vector<std::string>& damaged() const { return damaged_; }

 private:
  ReportedSet& set_;
  std::vector<std::string> whole_, damaged_;
};

/// Those findings that are about no file that the others are about.
[[nodiscard]] std::vector<Finding> without_files_of(const std::vector<Finding>& findings,
                                                    const std::vector<Finding>& others);

/// The shape of a tensor of a sample: its own where it is ragged, else that of the schema. An index
/// may say what the value does not hold.
[[nodiscard]] std::span<const std::uint64_t> shape_of(const Schema& schema, const IndexRow& row,
                                                      std::size_t field);

/// The finding that an error is, of damage that a report goes on after. Rethrows all other errors:
/// storage that fails, files that were replaced, a stop.
[[nodiscard]] Finding finding_of_damage(const Error& error);

/// Rows in ascending order, and where they are; of those that cannot be found out, what was met
/// instead.
struct FoundRows {
  std::vector<LocatedSample> samples;  ///< not of all rows
  std::vector<Finding> damage;
};
/// Thread-safe. Errors: same as finding_of_damage.
[[nodiscard]] FoundRows find_rows(const Loader& loader, std::span<const std::uint64_t> rows);

struct ReadValue {
  Bytes bytes;
  bool is_missing = false;  ///< the sample has no such value
  std::optional<Finding> damage = {};
};
struct ReadValues {
  std::vector<std::byte> memory;
  std::vector<ReadValue> values;  ///< as they were wanted
};
/// Reads them together, into memory of its own, and one by one where something of it is damaged.
/// Memory: all of them. Thread-safe. Errors: same as finding_of_damage.
[[nodiscard]] ReadValues read_values(const Loader& loader, std::span<const Fetch> wanted);

}  // namespace shale
