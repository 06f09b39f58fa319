#pragma once

#include <string>
#include <vector>

#include "shale/format/format.hpp"

namespace shale::test {

/// A file of "another tool" whose rows are fixed, and no more than that: it is surveyed and
/// scanned. All columns lie in one file. grid_format.cpp has the byte map.
extern const Format grid_format;

/// A column of such a file and the bytes of all its values.
struct GridColumn {
  Field field;
  std::string values;
};
/// The file's bytes. `gap`: bytes that are nobody's, in front of each column.
[[nodiscard]] std::string grid_bytes(const std::vector<GridColumn>& columns, std::uint64_t samples,
                                     std::uint64_t gap = 0);

}  // namespace shale::test
