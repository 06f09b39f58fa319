#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/parquet/parquet_footer.hpp"
#include "shale/parquet/parquet_writing.hpp"

#include "tests/unit/parquet/parquet_vector.hpp"
#include "tests/unit/wire/hex.hpp"

namespace shale {
namespace {

using test::parquet_vector;
using test::unhex;

constexpr ParquetAnnotation kString{.meaning = ParquetMeaning::string};

ParquetElement leaf(const std::string& name, ParquetType type,
                    const ParquetAnnotation& annotation = {}) {
  return {.name = name,
          .type = type,
          .repetition = ParquetRepetition::optional,
          .annotation = annotation};
}

std::vector<std::byte> joined(std::vector<std::byte> one, const std::vector<std::byte>& other) {
  one.insert(one.end(), other.begin(), other.end());
  return one;
}

std::string number(std::int64_t value) { return std::string(as_text(bytes_of(value))); }

// The pages of the vector: levels in runs, and what follows them.
struct VectorColumn {
  std::vector<std::uint32_t> levels;
  std::string values_hex;
  std::optional<WrittenBounds> bounds = {};
};

TEST_CASE("parquet writing: the file of the test vector comes out to the byte") {
  const VectorColumn columns[] = {
      {{2, 0, 1}, "03000000ffd841"},
      {{2, 0, 2}, "05000000612e6a70670100000062"},
      {{1, 1, 0}, "01000000000000000000000000000000", WrittenBounds{number(0), number(1)}},
      {{1, 1, 1}, "020000006b30020000006b31020000006b32", WrittenBounds{"k0", "k2"}}};
  const std::uint64_t nulls[] = {2, 1, 1, 0};
  std::vector<std::byte> file = unhex("50415231");
  WrittenGroup group{.rows = 3};
  for (std::size_t i = 0; i < 4; ++i) {
    LevelRuns levels;
    for (const std::uint32_t level : columns[i].levels) levels.add(level, 1);
    const std::vector<std::byte> body = joined(levels.bytes(), unhex(columns[i].values_hex));
    const std::vector<std::byte> page = joined(data_page_header(body.size(), crc32(body), 3), body);
    group.chunks.push_back({.pages = {{.offset = file.size(),
                                       .bytes = page.size(),
                                       .slots = 3,
                                       .nulls = nulls[i],
                                       .bounds = columns[i].bounds}},
                            .has_bounds = columns[i].bounds.has_value(),
                            .bounds = columns[i].bounds});
    file = joined(std::move(file), page);
  }
  const std::vector<std::byte> wanted = parquet_vector();
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return Bytes(wanted).subspan(offset, length);
  };
  const WrittenFile end{
      .schema = {{.name = "schema", .children = 3},
                 {.name = "image", .repetition = ParquetRepetition::optional, .children = 2},
                 leaf("bytes", ParquetType::byte_array),
                 leaf("path", ParquetType::byte_array, kString),
                 leaf("label", ParquetType::int64),
                 leaf("key", ParquetType::byte_array, kString)},
      .columns = {{ParquetType::byte_array, {"image", "bytes"}},
                  {ParquetType::byte_array, {"image", "path"}},
                  {ParquetType::int64, {"label"}},
                  {ParquetType::byte_array, {"key"}}},
      .groups = {group},
      .key_values = read_parquet_footer(view, wanted.size(), "file").key_values,
      .created_by = "shale version 1.0 (build 0)"};

  CHECK(joined(file, parquet_tail(end, file.size())) == wanted);

  // Zeros in front of the footer, where nothing points to.
  const std::vector<std::byte> padded = joined(file, parquet_tail(end, file.size(), 1000));
  CHECK(padded.size() == 1000);
  CHECK(joined(file, parquet_tail(end, file.size(), 10)) == wanted);
}

TEST_CASE("parquet writing: levels that follow one another are one run") {
  LevelRuns levels;
  for (int i = 0; i < 200; ++i) levels.add(2, 1);
  levels.add(0, 0);
  CHECK(levels.bytes() == unhex("03000000900302"));
  levels.clear();
  CHECK(levels.bytes() == unhex("00000000"));
}

}  // namespace
}  // namespace shale
