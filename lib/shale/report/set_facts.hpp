#pragma once

#include <optional>
#include <string>

#include "shale/report/contact_sheets.hpp"
#include "shale/report/report_json.hpp"

// The parts of a report that come from the manifest and the lists next to it.

namespace shale {

/// Errors: same as finding_of_damage, of each of them.
[[nodiscard]] Json shards_facts(ReportedSet& set);
[[nodiscard]] Json left_out_facts(const ReportedSet& set, const ProvedLists& lists);
[[nodiscard]] Json origin_facts(const ReportedSet& set);

/// "a complete record dataset by shale 0.5.0", "a file of another tool".
[[nodiscard]] std::string what_it_is(const ReportedSet& set);

/// From the manifest, else from the survey; nullopt: there are no images.
[[nodiscard]] std::optional<Json> image_facts(const ReportedSet& set,
                                              const std::vector<FieldUse>& uses,
                                              const SampleSurvey& survey, const NotedImages& noted);

}  // namespace shale
