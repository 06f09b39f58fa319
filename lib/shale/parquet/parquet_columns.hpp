#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/parquet/parquet_metadata.hpp"

namespace shale {

/// A column: a leaf of the schema, with the groups that it is in.
struct ParquetColumn {
  std::vector<std::size_t> nodes;  ///< of the schema, from the first below the root to the leaf
  ParquetElement leaf;
  std::uint32_t most_definition = 0, most_repetition = 0;
  /// For each repeated node on the way: the definition level from which on it has an element. One
  /// less is an empty list, even less a list that is not there.
  std::vector<std::uint32_t> element_levels = {};
};

/// All columns, in the order of the chunks in a row group. The footer is one that was checked.
[[nodiscard]] std::vector<ParquetColumn> columns_of(const ParquetFooter& footer);

/// The names of its nodes, with dots between them, for people.
[[nodiscard]] std::string dotted_name(const ParquetFooter& footer, const ParquetColumn& column);

}  // namespace shale
