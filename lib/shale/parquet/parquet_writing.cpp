#include "shale/parquet/parquet_writing.hpp"

#include <string_view>

#include "shale/parquet/parquet_annotation.hpp"
#include "shale/parquet/parquet_footer.hpp"
#include "shale/parquet/thrift_writer.hpp"

namespace shale {
namespace {

std::int64_t i64(std::uint64_t value) { return static_cast<std::int64_t>(value); }
std::int32_t i32(std::uint64_t value) { return static_cast<std::int32_t>(value); }

struct Extent {
  std::uint64_t offset = 0, bytes = 0;
};
struct IndexExtents {
  Extent of_columns, of_offsets;
};

void write_unit(ThriftWriter& out, const ParquetAnnotation& annotation) {
  out.flag(1, annotation.is_utc);
  out.begin(2);
  out.empty(static_cast<std::int32_t>(annotation.unit) + 1);
  out.end();
}

// LogicalType, a union: the number of its only field, and what that holds.
void write_logical_type(ThriftWriter& out, const ParquetAnnotation& annotation) {
  switch (annotation.meaning) {
    case ParquetMeaning::string:
      return out.empty(1);
    case ParquetMeaning::list:
      return out.empty(3);
    case ParquetMeaning::enumeration:
      return out.empty(4);
    case ParquetMeaning::decimal:
      out.begin(5);
      out.i32(1, annotation.scale);
      out.i32(2, annotation.precision);
      break;
    case ParquetMeaning::date:
      return out.empty(6);
    case ParquetMeaning::time:
    case ParquetMeaning::timestamp:
      out.begin(annotation.meaning == ParquetMeaning::time ? 7 : 8);
      write_unit(out, annotation);
      break;
    case ParquetMeaning::integer:
      out.begin(10);
      out.i8(1, annotation.bits);
      out.flag(2, annotation.is_signed);
      break;
    case ParquetMeaning::json:
      return out.empty(12);
    case ParquetMeaning::uuid:
      return out.empty(14);
    case ParquetMeaning::float16:
      return out.empty(15);
    default:
      return;
  }
  out.end();
}

// Both annotations: some readers know no LogicalType.
void write_annotation(ThriftWriter& out, const ParquetAnnotation& annotation) {
  if (const auto converted = converted_type_of(annotation)) out.i32(6, *converted);
  if (annotation.meaning == ParquetMeaning::decimal) {
    out.i32(7, annotation.scale);
    out.i32(8, annotation.precision);
  }
  out.begin(10);
  write_logical_type(out, annotation);
  out.end();
}

void write_schema(ThriftWriter& out, const std::vector<ParquetElement>& schema) {
  out.list(2, ThriftType::structure, schema.size());
  for (const ParquetElement& element : schema) {
    out.begin_element();
    if (element.type) out.i32(1, static_cast<std::int32_t>(*element.type));
    const bool is_root = &element == &schema.front();
    if (element.type == ParquetType::fixed_bytes) out.i32(2, element.type_length);
    if (!is_root) out.i32(3, static_cast<std::int32_t>(element.repetition));
    out.text(4, element.name);
    if (!element.type) out.i32(5, element.children);
    if (element.annotation.meaning != ParquetMeaning::none)
      write_annotation(out, element.annotation);
    out.end();
  }
}

std::uint64_t nulls_of(const WrittenChunk& chunk) {
  std::uint64_t nulls = 0;
  for (const WrittenPage& page : chunk.pages) nulls += page.nulls;
  return nulls;
}

void write_statistics(ThriftWriter& out, const WrittenChunk& chunk) {
  out.begin(12);
  out.i64(3, i64(nulls_of(chunk)));
  if (chunk.bounds) {
    out.text(5, chunk.bounds->greatest);
    out.text(6, chunk.bounds->least);
  }
  out.end();
}

std::uint64_t bytes_of_pages(const WrittenChunk& chunk) {
  std::uint64_t bytes = 0;
  for (const WrittenPage& page : chunk.pages) bytes += page.bytes;
  return bytes;
}

void write_chunk(ThriftWriter& out, const WrittenChunk& chunk, const WrittenColumn& column,
                 const IndexExtents& indexes) {
  std::uint64_t slots = 0;
  for (const WrittenPage& page : chunk.pages) slots += page.slots;
  const std::uint64_t bytes = bytes_of_pages(chunk);
  out.begin_element();
  out.i64(2, 0);
  out.begin(3);
  out.i32(1, static_cast<std::int32_t>(column.type));
  out.list(2, ThriftType::i32, 2);
  out.element_i32(static_cast<std::int32_t>(ParquetEncoding::plain));
  out.element_i32(static_cast<std::int32_t>(ParquetEncoding::rle));
  out.list(3, ThriftType::binary, column.path.size());
  for (const std::string& name : column.path) out.element_text(name);
  out.i32(4, static_cast<std::int32_t>(ParquetCodec::uncompressed));
  out.i64(5, i64(slots));
  out.i64(6, i64(bytes));
  out.i64(7, i64(bytes));
  out.i64(9, chunk.pages.empty() ? 0 : i64(chunk.pages.front().offset));
  write_statistics(out, chunk);
  out.list(13, ThriftType::structure, 1);
  out.begin_element();
  out.i32(1, static_cast<std::int32_t>(ParquetPageKind::data));
  out.i32(2, static_cast<std::int32_t>(ParquetEncoding::plain));
  out.i32(3, i32(chunk.pages.size()));
  out.end();
  out.end();
  out.i64(4, i64(indexes.of_offsets.offset));
  out.i32(5, i32(indexes.of_offsets.bytes));
  if (indexes.of_columns.bytes > 0) {
    out.i64(6, i64(indexes.of_columns.offset));
    out.i32(7, i32(indexes.of_columns.bytes));
  }
  out.end();
}

std::vector<std::byte> column_index(const WrittenChunk& chunk) {
  ThriftWriter out;
  const std::size_t count = chunk.pages.size();
  out.list(1, ThriftType::bool_true, count);
  for (const WrittenPage& page : chunk.pages) out.element_flag(!page.bounds);
  out.list(2, ThriftType::binary, count);
  for (const WrittenPage& page : chunk.pages)
    out.element_text(page.bounds ? std::string_view(page.bounds->least) : "");
  out.list(3, ThriftType::binary, count);
  for (const WrittenPage& page : chunk.pages)
    out.element_text(page.bounds ? std::string_view(page.bounds->greatest) : "");
  out.i32(4, 0);  // in no order
  out.list(5, ThriftType::i64, count);
  for (const WrittenPage& page : chunk.pages) out.element_i64(i64(page.nulls));
  out.end();
  return out.take();
}

std::vector<std::byte> offset_index(const WrittenChunk& chunk) {
  ThriftWriter out;
  out.list(1, ThriftType::structure, chunk.pages.size());
  for (const WrittenPage& page : chunk.pages) {
    out.begin_element();
    out.i64(1, i64(page.offset));
    out.i32(2, i32(page.bytes));
    out.i64(3, i64(page.first_row));
    out.end();
  }
  out.end();
  return out.take();
}

void write_group(ThriftWriter& out, const WrittenFile& file, std::size_t number,
                 const std::vector<IndexExtents>& indexes) {
  const WrittenGroup& group = file.groups[number];
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> begin;
  out.begin_element();
  out.list(1, ThriftType::structure, group.chunks.size());
  for (std::size_t i = 0; i < group.chunks.size(); ++i) {
    const WrittenChunk& chunk = group.chunks[i];
    write_chunk(out, chunk, file.columns[i], indexes[number * file.columns.size() + i]);
    bytes += bytes_of_pages(chunk);
    if (!chunk.pages.empty() && (!begin || chunk.pages.front().offset < *begin))
      begin = chunk.pages.front().offset;
  }
  out.i64(2, i64(bytes));
  out.i64(3, i64(group.rows));
  out.i64(5, i64(begin.value_or(0)));
  out.i64(6, i64(bytes));
  constexpr std::size_t kMostNumbers = 32'768;  // of an i16, and a file may have more groups
  if (number < kMostNumbers) out.i16(7, static_cast<std::int16_t>(number));
  out.end();
}

std::vector<std::byte> footer_bytes(const WrittenFile& file,
                                    const std::vector<IndexExtents>& indexes) {
  ThriftWriter out;
  std::uint64_t rows = 0;
  for (const WrittenGroup& group : file.groups) rows += group.rows;
  out.i32(1, 1);
  write_schema(out, file.schema);
  out.i64(3, i64(rows));
  out.list(4, ThriftType::structure, file.groups.size());
  for (std::size_t i = 0; i < file.groups.size(); ++i) write_group(out, file, i, indexes);
  out.list(5, ThriftType::structure, file.key_values.size());
  for (const ParquetKeyValue& pair : file.key_values) {
    out.begin_element();
    out.text(1, pair.key);
    out.text(2, pair.value);
    out.end();
  }
  out.text(6, file.created_by);
  out.list(7, ThriftType::structure, file.columns.size());
  for (std::size_t i = 0; i < file.columns.size(); ++i) {
    out.begin_element();
    out.empty(1);
    out.end();
  }
  out.end();
  return out.take();
}

}  // namespace

void LevelRuns::add(std::uint32_t level, std::uint64_t slots) {
  if (slots == 0) return;
  if (!runs_.empty() && runs_.back().level == level) {
    runs_.back().slots += slots;
  } else {
    runs_.push_back({level, slots});
  }
}

std::vector<std::byte> LevelRuns::bytes() const {
  ByteWriter out;
  for (const Run& run : runs_) {
    out.write_varint(run.slots << 1);
    out.write(static_cast<std::uint8_t>(run.level));
  }
  ByteWriter whole;
  whole.write(static_cast<std::uint32_t>(out.size()));
  whole.write_bytes(out.bytes());
  return whole.take();
}

std::vector<std::byte> data_page_header(std::uint64_t stored_bytes, std::uint32_t crc,
                                        std::uint64_t slots) {
  ThriftWriter out;
  out.i32(1, static_cast<std::int32_t>(ParquetPageKind::data));
  out.i32(2, i32(stored_bytes));
  out.i32(3, i32(stored_bytes));
  out.i32(4, static_cast<std::int32_t>(crc));
  out.begin(5);
  out.i32(1, i32(slots));
  out.i32(2, static_cast<std::int32_t>(ParquetEncoding::plain));
  out.i32(3, static_cast<std::int32_t>(ParquetEncoding::rle));
  out.i32(4, static_cast<std::int32_t>(ParquetEncoding::rle));
  out.end();
  out.end();
  return out.take();
}

std::vector<std::byte> parquet_tail(const WrittenFile& file, std::uint64_t begin,
                                    std::uint64_t file_bytes) {
  ByteWriter out;
  std::vector<IndexExtents> indexes(file.groups.size() * file.columns.size());
  const auto add = [&](Extent& extent, const std::vector<std::byte>& bytes) {
    extent = {begin + out.size(), bytes.size()};
    out.write_bytes(bytes);
  };
  std::size_t at = 0;
  for (const WrittenGroup& group : file.groups) {
    for (const WrittenChunk& chunk : group.chunks) {
      if (chunk.has_bounds) add(indexes[at].of_columns, column_index(chunk));
      ++at;
    }
  }
  at = 0;
  for (const WrittenGroup& group : file.groups) {
    for (const WrittenChunk& chunk : group.chunks)
      add(indexes[at++].of_offsets, offset_index(chunk));
  }
  const std::vector<std::byte> footer = footer_bytes(file, indexes);
  const std::uint64_t rest = footer.size() + sizeof(std::uint32_t) + kParquetMagic.size();
  const std::uint64_t end = begin + out.size() + rest;
  if (end < file_bytes) out.write_bytes(std::vector<std::byte>(file_bytes - end));
  out.write_bytes(footer);
  out.write(static_cast<std::uint32_t>(footer.size()));
  out.write_text(kParquetMagic);
  return out.take();
}

}  // namespace shale
