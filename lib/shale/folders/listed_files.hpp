#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace shale {

/// A line of a list of files.
struct ListedLine {
  std::uint64_t number = 0;  ///< from 1
  std::string_view path;     ///< without "./" in front: raw bytes
  std::string_view label =
      {};  ///< behind the last tab, without blanks around it; empty: there is none
};

/// Reads a list of files, `path` or `path<TAB>label` each. `name`: of the list, for messages. Lines
/// end in LF or CRLF; or in NUL, if one is among the first bytes, as `find -print0` ends them:
/// paths may then have line ends. Blank lines are passed over, and so is a byte order mark in
/// front. Memory: 3 MiB. Errors: Code::bad_content, with the line, for a line of more than 1 MiB,
/// one without path, a NUL in a list of lines, and UTF-16; Code::io.
void read_listed_files(const std::string& path, const std::string& name,
                       const std::function<void()>& stop_if_asked,
                       const std::function<void(const ListedLine&)>& use);

}  // namespace shale
