#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "shale/data/field_type.hpp"
#include "shale/format/file_contents.hpp"

#include "formats/parquet/parquet_foreign.hpp"

namespace shale {
namespace {

void take_codec(std::string& codecs, ParquetCodec codec) {
  if (codec == ParquetCodec::uncompressed) return;
  const std::string name = name_of(codec);
  if (codecs.find(name) == std::string::npos) codecs += (codecs.empty() ? "" : ", ") + name;
}

}  // namespace

FileContents list_parquet_columns(const InputFile& file) {
  const ParquetForeignFile parquet = describe_foreign_parquet(file);
  const ParquetFooter& footer = parquet.footer;
  FileContents contents{.format = {}, .noun = "column", .arrays = {}};
  for (const ParquetForeignField& field : parquet.fields) {
    ListedArray column{.path = field.field.name,
                       .type = field_type_text(field.field),
                       .shape = {static_cast<std::uint64_t>(footer.rows)},
                       .obstacle = field.why,
                       .is_fixed = false};
    for (const ParquetRowGroup& group : footer.row_groups) {
      const ParquetChunk& chunk = group.chunks[field.column];
      column.stored_bytes +=
          static_cast<std::uint64_t>(std::max<std::int64_t>(0, chunk.stored_bytes));
      take_codec(column.compression, chunk.codec);
    }
    contents.arrays.push_back(std::move(column));
  }
  contents.attributes.push_back({"rows", fmt::format("{}", footer.rows)});
  contents.attributes.push_back({"row groups", fmt::format("{}", footer.row_groups.size())});
  if (!footer.created_by.empty()) contents.attributes.push_back({"written by", footer.created_by});
  contents.is_known = true;
  contents.row_groups = footer.row_groups.size();
  return contents;
}

}  // namespace shale
