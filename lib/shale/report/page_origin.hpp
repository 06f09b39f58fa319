#pragma once

#include "shale/report/page_parts.hpp"

namespace shale {

/// What was skipped and ignored, and why.
[[nodiscard]] PageSection left_out_section(const ReportFacts& facts);
/// What was verified, and every finding.
[[nodiscard]] PageSection integrity_section(const ReportFacts& facts);
/// How the set was made: source, options, image work, runs.
[[nodiscard]] PageSection origin_section(const ReportFacts& facts);
/// Code that reads it.
[[nodiscard]] PageSection loading_section(const ReportFacts& facts);

}  // namespace shale
