#pragma once

#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/temp_dir.hpp"

namespace shale::test {

/// The rows of the Markdown table in docs/<page> whose header line is `header`: cells without
/// blanks and backticks around them. So a page's vectors are the ones that are tested. Errors:
/// Code::not_found if there is no such table.
inline std::vector<std::vector<std::string>> doc_table(std::string_view page,
                                                       std::string_view header) {
  const std::filesystem::path root =
      std::filesystem::path(__FILE__).parent_path().parent_path().parent_path();
  std::istringstream lines(read_text(root / "docs" / page));
  std::string line;
  while (line != header && std::getline(lines, line)) {
  }
  if (!std::getline(lines, line)) throw Error(Code::not_found, "no table '{}'", header).at(page);
  std::vector<std::vector<std::string>> rows;
  while (std::getline(lines, line) && line.starts_with('|')) {
    std::istringstream cells(line.substr(1));
    rows.emplace_back();
    for (std::string cell; std::getline(cells, cell, '|');) {
      const std::size_t begin = cell.find_first_not_of(" `"), end = cell.find_last_not_of(" `");
      rows.back().push_back(begin == std::string::npos ? "" : cell.substr(begin, end - begin + 1));
    }
  }
  return rows;
}

}  // namespace shale::test
