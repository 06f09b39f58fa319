#pragma once

#include <string>
#include <string_view>

namespace shale {

/// Where a page is to stand.
struct ReportPlace {
  std::string output;
  std::string dataset;      ///< that the page is about
  bool overwrites = false;  ///< an earlier report may be replaced
};

/// Refuses an output before any work is done for it. Errors: Code::usage for one that is the
/// dataset, or lies in it or in any other; Code::exists for one that stands, unless `overwrites`
/// and it is a page of shale's.
void refuse_report_output(const ReportPlace& place);

/// Writes a page durably, under a hidden name beside the output until it is complete. Errors: same
/// as refuse_report_output; Code::io.
void write_report(const ReportPlace& place, std::string_view page);

}  // namespace shale
