#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shale/numbers/bins.hpp"
#include "shale/report/contact_sheets.hpp"
#include "shale/report/report_json.hpp"

namespace shale {

/// What the values of one field are.
struct WalkedColumn : NumberSummary {  ///< of integers and reals
  std::uint64_t values = 0, missing = 0;
  std::uint64_t bytes = 0, least = 0, most = 0;  ///< of values that lie in the container
  bool are_whole = false;
};

/// What the index says of a dataset.
struct IndexWalk {  // NOLINT(bugprone-exception-escape): what nlohmann's assertions would throw
  SampledFrom from;
  std::vector<WalkedColumn> columns;  ///< by field
  RatioBins sample_bytes;             ///< of all values of a sample that lie in the container
  /// Where there are labels: classes by label, above 200 the first and the last hundred of them;
  /// then also how many have so many samples, and a list of at most 10,000, the largest first.
  std::optional<Json> classes;
  /// The shuffle score is 0 if all samples of a class stand together, and 1 if they are as mixed as
  /// by chance: the share of neighbours with different labels, divided by what a random order is
  /// expected to have.
  Json order;
  std::vector<PlannedSheet> sheets;  ///< a row per class, of some of them
};
/// Walks the index, twice, without touching payload but for numbers that lie there. All rows are
/// looked at up to 100,000,000, else a sample. Damage is met, and the rest of that shard passed
/// over. Errors: same as finding_of_damage.
[[nodiscard]] IndexWalk walk_index(ReportedSet& set, const SampleRows& sample);

}  // namespace shale
