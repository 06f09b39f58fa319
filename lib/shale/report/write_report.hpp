#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shale {

// Which files are pages of shale's, and may be replaced: those that begin as one and end with the
// hash of all that is before it. So a page that somebody has written by hand, or changed, is
// theirs.

/// How every page begins.
inline constexpr std::string_view kPageBegin =
    "<!DOCTYPE html>\n"
    R"(<html xmlns="http://www.w3.org/1999/xhtml" lang="en" xml:lang="en">)"
    "\n<head>\n"
    R"(<meta charset="utf-8"/>)"
    "\n"
    R"(<meta name="generator" content="shale report"/>)"
    "\n";

/// The page with its last line: "<!-- shale report, xxh3-128 of all before this line: HEX -->".
[[nodiscard]] std::string sealed(std::string page);

enum class PageState {
  foreign,  ///< begins otherwise
  begun,    ///< begins as a page, and has no such line: it was not written to its end
  changed,  ///< has the line, and it does not fit
  whole,
};
/// Of a file. Errors: Code::io, Code::not_found.
[[nodiscard]] PageState page_state(const std::string& path);

/// Where a page is to stand.
struct ReportPlace {
  std::string output;
  std::vector<std::string> inputs;  ///< that the page is about
  bool overwrites = false;          ///< an earlier report may be replaced
};

/// Refuses an output before any work is done for it. Errors: Code::usage for one that is the
/// dataset, or lies in it or in any other; Code::exists for one that stands, unless `overwrites`
/// and it is a page of shale's.
void refuse_report_output(const ReportPlace& place);

/// Writes a page durably, under a hidden name beside the output until it is complete. Errors: same
/// as refuse_report_output; Code::io.
void write_report(const ReportPlace& place, std::string_view page);

}  // namespace shale
