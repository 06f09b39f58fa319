#pragma once

#include <string>
#include <string_view>

// Which files are pages of shale's, and may be replaced: those that begin as one and end with the
// hash of all that is before it. So a page that somebody has written by hand, or changed, is
// theirs.

namespace shale {

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

}  // namespace shale
