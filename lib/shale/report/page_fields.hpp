#pragma once

#include "shale/report/page_parts.hpp"

namespace shale {

/// Every field: what it is, its numbers, a histogram and a preview; for structured ones, of each
/// column.
[[nodiscard]] PageSection fields_section(const ReportFacts& facts);

}  // namespace shale
