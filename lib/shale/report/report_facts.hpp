#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "shale/report/report_json.hpp"
#include "shale/report/shown_sample.hpp"

namespace shale {

/// The pictures of a page, which are not in its JSON: of samples by row, of previews of values by
/// the number of the field and the row.
struct ReportPictures {
  std::map<std::uint64_t, ReportSample> samples = {};
  std::map<std::pair<std::size_t, std::uint64_t>, ReportImage> previews = {};
};

/// Everything that a report of a dataset shows.
struct ReportFacts {  // NOLINT(bugprone-exception-escape): what nlohmann's assertions would throw
  Json json = {};
  ReportPictures pictures = {};
  /// What the report ran into while it read, and the first of what it found by verifying: both are
  /// in the JSON, too.
  std::vector<Finding> met = {}, verified = {};

  /// Something is damaged: exit code 3.
  [[nodiscard]] bool is_damaged() const { return !met.empty() || !verified.empty(); }
};

}  // namespace shale
