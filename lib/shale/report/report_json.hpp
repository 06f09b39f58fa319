#pragma once

#include <nlohmann/json_fwd.hpp>

#include "shale/report/report_facts.hpp"

namespace shale {

/// What `shale report --json` prints, and what the page is made from: all facts but the bytes of
/// pictures. Names and keys are escaped as everywhere; numbers that are not finite are left out.
[[nodiscard]] nlohmann::ordered_json report_facts_json(const ReportFacts& facts);

/// A finding as every command prints it with --json.
[[nodiscard]] nlohmann::ordered_json finding_json(const Finding& finding);

}  // namespace shale
