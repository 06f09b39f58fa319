#pragma once

#include <string>

#include "shale/report/report_facts.hpp"

namespace shale {

/// The report as one HTML page that needs no other file and no network. Names and keys of the
/// dataset are shown, never interpreted. The same facts give the same bytes. It begins with
/// kPageBegin, and is sealed (write_report.hpp). Errors: none but std::bad_alloc.
[[nodiscard]] std::string report_page(const ReportFacts& facts);

}  // namespace shale
