#pragma once

#include "shale/report/report_facts.hpp"

#include "tools/console.hpp"

namespace shale::tools {

/// What `shale report --json` prints: all facts but the bytes of pictures. Names and keys are
/// escaped as everywhere; numbers that are not finite are null.
[[nodiscard]] Json report_facts_json(const ReportFacts& facts);

}  // namespace shale::tools
