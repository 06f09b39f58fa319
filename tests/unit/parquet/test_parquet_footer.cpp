#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/parquet/parquet_annotation.hpp"
#include "shale/parquet/parquet_footer.hpp"
#include "shale/parquet/thrift_writer.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/parquet/parquet_vector.hpp"
#include "tests/unit/wire/hex.hpp"

namespace shale {
namespace {

using test::error_of;
using test::parquet_vector;

ViewBytes view_of(const std::vector<std::byte>& file) {
  return [&file](std::uint64_t offset, std::uint64_t length) {
    if (offset > file.size() || length > file.size() - offset)
      throw Error(Code::damaged, "behind the end").at("file", offset);
    return Bytes(file).subspan(offset, length);
  };
}
ParquetFooter footer_of(const std::vector<std::byte>& file) {
  return read_parquet_footer(view_of(file), file.size(), "file");
}
// A file of nothing but a footer of these bytes.
std::vector<std::byte> file_of(std::string_view hex_digits) {
  std::vector<std::byte> file = test::unhex("50415231");
  const std::vector<std::byte> footer = test::unhex(hex_digits);
  file.insert(file.end(), footer.begin(), footer.end());
  for (const char c : {static_cast<char>(footer.size()), '\0', '\0', '\0', 'P', 'A', 'R', '1'})
    file.push_back(static_cast<std::byte>(c));
  return file;
}

TEST_CASE("parquet footer: schema, chunks and metadata of a file are those that others read") {
  const ParquetFooter footer = footer_of(parquet_vector());

  CHECK(footer.version == 1);
  CHECK(footer.rows == 3);
  REQUIRE(footer.schema.size() == 6);
  CHECK(footer.schema[1].name == "image");
  CHECK(footer.schema[1].children == 2);
  CHECK(footer.schema[1].repetition == ParquetRepetition::optional);
  CHECK(footer.schema[2].type == ParquetType::byte_array);
  CHECK(footer.schema[3].annotation.meaning == ParquetMeaning::string);
  CHECK(footer.schema[4].type == ParquetType::int64);
  REQUIRE(footer.row_groups.size() == 1);
  REQUIRE(footer.row_groups[0].chunks.size() == 4);
  CHECK(footer.row_groups[0].chunks[0].data_page_offset == 4);
  CHECK(footer.row_groups[0].chunks[0].slots == 3);
  CHECK(footer.row_groups[0].chunks[2].column_index_offset == 184);
  CHECK(footer.created_by == "shale version 1.0 (build 0)");
  REQUIRE(footer.key_values.size() == 1);
  CHECK(footer.key_values[0].key == "huggingface");
  CHECK(footer.key_values[0].value == test::parquet_vector_json());
}

TEST_CASE("parquet footer: a page header says how long it is, and has the sum of its page") {
  const std::vector<std::byte> file = parquet_vector();

  const ParquetPageHeader page = read_page_header(view_of(file), 4, test::kVectorFooter, "file");

  CHECK(page.kind == ParquetPageKind::data);
  CHECK(page.header_bytes == 23);
  CHECK(page.stored_bytes == 17);
  CHECK(page.slots == 3);
  CHECK(page.encoding == ParquetEncoding::plain);
  CHECK(page.crc == crc32(Bytes(file).subspan(27, 17)));
}

TEST_CASE("parquet footer: each byte of it that is cut off is missed") {
  const std::vector<std::byte> whole = parquet_vector();
  for (std::size_t cut = 1; cut + test::kVectorFooter + 8 < whole.size(); ++cut) {
    CAPTURE(cut);
    std::vector<std::byte> file(whole.begin(), whole.end() - 8 - static_cast<std::ptrdiff_t>(cut));
    const std::size_t length = file.size() - test::kVectorFooter;
    for (const std::size_t byte : {length & 255, length >> 8, std::size_t{0}, std::size_t{0}})
      file.push_back(static_cast<std::byte>(byte));
    for (const char c : {'P', 'A', 'R', '1'}) file.push_back(static_cast<std::byte>(c));
    CHECK(error_of([&] { (void)footer_of(file); }).code() == Code::damaged);
  }
}

TEST_CASE("parquet footer: any bit of it may be wrong, which is an error or another footer") {
  const std::vector<std::byte> whole = parquet_vector();
  for (std::size_t at = test::kVectorFooter; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> file = whole;
      file[at] ^= std::byte{1} << bit;
      try {
        (void)footer_of(file);
      } catch (const Error& error) {
        CHECK((error.code() == Code::damaged || error.code() == Code::unsupported ||
               error.code() == Code::limit));
      }
    }
  }
}

TEST_CASE("parquet footer: what cannot be one is refused with the reason") {
  struct Row {
    std::string_view hex, says;
  };
  constexpr Row kRows[] = {
      {"00", "the footer has no field 1"},
      {"1502 1502 00", "field 2 of the footer has the type 5, expected 9"},
      {"1502 19 fc ffffffff0f 00", "list of 4294967295 elements"},
      {"1502 191c 00", "a schema element has no field 4"},
      {"1502 05 02 04 00", "field 1 of the footer is there twice"},
      {"1502 192c 48 0161 00 1500 1801 62 00 00", "has the type 8"},
      {"1502 191c 4801 61 1504 00 00", "the schema has too few nodes"},
      {"1502 192c 4801 61 1502 00 1500 2500 1801 62 00 1600 191c 00 00",
       "a row group has no field 1"},
      {"1502 191c 4801 61 00 1602 190c 00", "the file has 1 rows, its row groups 0"},
      {"8c 00 00", "encrypted"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.says);
    const Error error = error_of([&] { (void)footer_of(file_of(row.hex)); });
    CHECK(error.message().find(row.says) != std::string::npos);
    CHECK(error.file() == "file");
  }
}

TEST_CASE("parquet footer: what is nested without end is refused, not followed") {
  std::string lists = "1502 89";  // an unknown field: a list of one list of one list
  for (int i = 0; i < 100; ++i) lists += "19";
  const Error error = error_of([&] { (void)footer_of(file_of(lists)); });
  CHECK(error.message().find("16 levels") != std::string::npos);
}

// A file of a footer with these row groups of the required column `b`, whose chunks lie in zeros.
struct LyingGroup {
  std::int64_t rows = 1, slots = 1, bytes = 8, at = 4;
};
std::vector<std::byte> file_of(const std::vector<LyingGroup>& groups, std::int64_t rows,
                               std::size_t nodes = 1, const std::string& name = "b",
                               std::size_t keys = 0) {
  ThriftWriter out;
  out.i32(1, 1);
  out.list(2, ThriftType::structure, nodes + 1);
  out.begin_element();
  out.text(4, "root");
  out.i32(5, static_cast<std::int32_t>(nodes));
  out.end();
  for (std::size_t i = 0; i < nodes; ++i) {
    out.begin_element();
    out.i32(1, 6);
    out.i32(3, 0);
    out.text(4, name);
    out.end();
  }
  out.i64(3, rows);
  out.list(4, ThriftType::structure, groups.size());
  for (const LyingGroup& group : groups) {
    out.begin_element();
    out.list(1, ThriftType::structure, 1);
    out.begin_element();
    out.begin(3);
    out.i32(1, 6);
    out.i32(4, 0);
    out.i64(5, group.slots);
    out.i64(7, group.bytes);
    out.i64(9, group.at);
    out.end();
    out.end();
    out.i64(2, 0);
    out.i64(3, group.rows);
    out.end();
  }
  out.list(5, ThriftType::structure, keys);
  for (std::size_t i = 0; i < keys; ++i) {
    out.begin_element();
    out.text(1, "");
    out.end();
  }
  out.end();
  ByteWriter file;
  file.write_bytes(as_bytes(kParquetMagic));
  file.write_bytes(std::vector<std::byte>(12));
  const std::vector<std::byte> footer = out.take();
  file.write_bytes(footer);
  file.write(static_cast<std::uint32_t>(footer.size()));
  file.write_bytes(as_bytes(kParquetMagic));
  return file.take();
}

TEST_CASE("parquet footer: rows and values are bounded by the size of the file, without a wrap") {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const auto refusal = [](const std::vector<std::byte>& file) {
    return error_of([&] { (void)footer_of(file); });
  };
  CHECK(footer_of(file_of({{}, {}}, 2)).rows == 2);
  CHECK(footer_of(file_of({{.rows = 1 << 24, .slots = 1 << 24}}, 1 << 24)).rows == 1 << 24);
  CHECK(refusal(file_of({{.rows = 1 << 28}}, 1 << 28)).code() == Code::limit);
  // 2^63-1, once more, and 4 are 2 in 64 bits.
  const Error wrapped =
      refusal(file_of({{.rows = kHuge, .bytes = 1}, {.rows = kHuge, .bytes = 1}, {.rows = 4}}, 2));
  CHECK(wrapped.code() == Code::limit);
  CHECK(wrapped.message().starts_with("0 rows and 9223372036854775807 more, at most "));
  const Error many = refusal(file_of({{.slots = 1 << 24}, {.slots = kHuge}}, 2));
  CHECK(many.code() == Code::limit);
  CHECK(many.message().starts_with("16777216 values and "));
}

TEST_CASE("parquet footer: a chunk with too many bytes ends where the next one begins") {
  constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
  const ParquetFooter footer =
      footer_of(file_of({{.bytes = kHuge, .at = 8}, {.bytes = 100}, {.bytes = 2, .at = 14}}, 3));
  CHECK(footer.row_groups[0].chunks[0].stored_bytes == 6);
  CHECK(footer.row_groups[1].chunks[0].stored_bytes == 4);
  CHECK(footer.row_groups[2].chunks[0].stored_bytes == 2);
  for (const LyingGroup& group : {LyingGroup{.at = 3}, {.at = 17}, {.at = -1}, {.bytes = -1}})
    CHECK(error_of([&] { (void)footer_of(file_of({group}, 1)); }).code() == Code::damaged);
}

TEST_CASE("parquet footer: a chunk of no values may be anywhere, as tables without rows have it") {
  const ParquetFooter footer =
      footer_of(file_of({{.rows = 0, .slots = 0, .bytes = 15, .at = 0}}, 0));
  CHECK(footer.row_groups[0].chunks[0].stored_bytes == 0);
}

TEST_CASE("parquet footer: column chunks that lie upon each other are refused") {
  const Error error = error_of([&] {
    (void)footer_of(file_of({{.bytes = 12}, {.bytes = 12}}, 2));
  });
  CHECK(error.code() == Code::damaged);
  CHECK(error.message() == "column chunks of 24 bytes and more in front of a footer at 16");
}

TEST_CASE("parquet footer: nodes, names and keys are counted before they take memory") {
  const auto refusal = [](const std::vector<std::byte>& file) {
    return error_of([&] { (void)footer_of(file); });
  };
  CHECK(footer_of(file_of({}, 0, kMostSchemaNodes - 1)).schema.size() == kMostSchemaNodes);
  const Error nodes = refusal(file_of({}, 0, kMostSchemaNodes));
  CHECK(nodes.code() == Code::limit);
  CHECK(nodes.message() == "schema of more than 65536 nodes");
  CHECK(footer_of(file_of({}, 0, 1, "b", kMostKeyValues)).key_values.size() == kMostKeyValues);
  CHECK(refusal(file_of({}, 0, 1, "b", kMostKeyValues + 1)).code() == Code::limit);
  const Error name = refusal(file_of({}, 0, 1, std::string(kMostPathBytes, 'x')));
  CHECK(name.code() == Code::limit);
  CHECK(name.message() == "a column with names of 4097 bytes, at most 4096 are read");
}

TEST_CASE("parquet footer: magics, lengths and encryption are checked first") {
  const std::vector<std::byte> whole = parquet_vector();
  const auto with = [&](std::size_t behind, char c) {
    std::vector<std::byte> file = whole;
    file[file.size() - behind] = static_cast<std::byte>(c);
    return error_of([&] { (void)footer_of(file); });
  };
  CHECK(with(1, 'E').code() == Code::unsupported);
  CHECK(with(1, 'x').code() == Code::damaged);
  CHECK(with(whole.size(), 'x').code() == Code::damaged);
  CHECK(with(5, 1).message().starts_with("footer of 16777"));
}

TEST_CASE("parquet annotation: an older one is the same as the newer, and found by it") {
  for (std::uint8_t number = 0; number < 22; ++number) {
    CAPTURE(int{number});
    const ParquetAnnotation annotation = annotation_of({.number = number});
    if (number == 2) continue;  // the other name for a map
    CHECK(converted_type_of(annotation) == number);
  }
  CHECK(annotation_of({.number = 13}).bits == 32);
  CHECK(!annotation_of({.number = 13}).is_signed);
  CHECK(!converted_type_of({.meaning = ParquetMeaning::float16}));
}

}  // namespace
}  // namespace shale
