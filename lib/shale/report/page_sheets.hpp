#pragma once

#include "shale/report/page_parts.hpp"

namespace shale {

/// Contact sheets: figures that are enlarged by a link to themselves, so that no script is needed.
[[nodiscard]] PageSection sheets_section(const ReportFacts& facts);

}  // namespace shale
