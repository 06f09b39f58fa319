#include "shale/parquet/parquet_columns.hpp"

namespace shale {

std::vector<ParquetColumn> columns_of(const ParquetFooter& footer) {
  const std::vector<ParquetElement>& schema = footer.schema;
  std::vector<ParquetColumn> columns;
  ParquetColumn path;  // down to the node at hand; its leaf stays empty
  struct Open {
    std::int32_t children;
    std::uint32_t definition, repetition;
  };
  std::vector<Open> open = {{schema[0].children, 0, 0}};
  for (std::size_t i = 1; i < schema.size(); ++i) {
    while (open.back().children == 0) {
      open.pop_back();
      path.nodes.pop_back();
    }
    --open.back().children;
    const ParquetElement& node = schema[i];
    Open level = open.back();
    level.children = node.children;
    level.definition += node.repetition != ParquetRepetition::required ? 1 : 0;
    level.repetition += node.repetition == ParquetRepetition::repeated ? 1 : 0;
    path.element_levels.resize(open.back().repetition);
    if (node.repetition == ParquetRepetition::repeated)
      path.element_levels.push_back(level.definition);
    path.nodes.push_back(i);
    if (!node.type) {
      open.push_back(level);
      continue;
    }
    ParquetColumn& column = columns.emplace_back(path);
    column.leaf = node;
    column.most_definition = level.definition;
    column.most_repetition = level.repetition;
    path.nodes.pop_back();
  }
  return columns;
}

std::string dotted_name(const ParquetFooter& footer, const ParquetColumn& column) {
  std::string name;
  for (const std::size_t node : column.nodes)
    name += (name.empty() ? "" : ".") + footer.schema[node].name;
  return name;
}

}  // namespace shale
