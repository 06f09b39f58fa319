#include <filesystem>

#include <doctest/doctest.h>

#include "shale/shards/index_file.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::error_of;
using test::TempDir;

const Schema kSchema{.fields = {{"image", Kind::bytes, {}, {}},
                                {"label", Kind::integer, {}, {}},
                                {"frames", Kind::list, {}, {}},
                                {"score", Kind::real, {}, {}}}};

ShardLayout layout_of(bool has_keys, bool has_whole_records) {
  ShardLayout layout;
  layout.file_suffixes = {".x"};
  layout.part_file = {0};
  layout.field_part = {0, 0, 0, 0};
  layout.has_keys = has_keys;
  layout.has_whole_records = has_whole_records;
  return layout;
}

IndexRow row_of(std::uint64_t number) {
  IndexRow row;
  row.key = {.offset = 100 * number, .length = 3, .crc32c = 0xaabbccdd, .count = 0};
  row.key_hash = 0x1122334455667788 + number;
  row.cells.resize(4);
  row.cells[0].place = {.offset = 100 * number + 10, .length = 20, .crc32c = 7, .count = 0};
  row.cells[1].integer = -static_cast<std::int64_t>(number);
  row.cells[2].place = {.offset = 100 * number + 40, .length = 30, .crc32c = 8, .count = 5};
  row.cells[3].real = 0.5 * static_cast<double>(number);
  row.record_offset = 100 * number;
  row.record_length = 100;
  return row;
}

OutputFile output(const std::string& path) {
  return OutputFile(path, {.io = IoMode::buffered, .buffer_bytes = 4096, .buffers = 1});
}

// Writes an index of `rows` rows; the columns are those of kSchema.
FileSummary write_index(const std::string& path, std::uint64_t rows, const IndexColumns& columns) {
  IndexWriter writer(output(path), columns);
  for (std::uint64_t i = 0; i < rows; ++i) writer.append(row_of(i));
  return writer.finish().index;
}

TEST_CASE("index: rows come back as they were written, in any order") {
  const TempDir dir;
  const IndexColumns columns(kSchema, layout_of(true, true));
  (void)write_index(dir / "a", 2000, columns);
  const InputFile file(dir / "a");
  IndexReader reader(file, columns, 2000);

  for (std::uint64_t i = 0; i < 2000; ++i) CHECK(reader.row(i * 7 % 2000) == row_of(i * 7 % 2000));
  CHECK(file.size() == columns.file_bytes(2000));
}

TEST_CASE("index: one place of a row is the one that the whole row has") {
  for (const bool has_keys : {true, false}) {
    const TempDir dir;
    const IndexColumns columns(kSchema, layout_of(has_keys, false));
    (void)write_index(dir / "a", 9, columns);
    const InputFile file(dir / "a");
    IndexReader reader(file, columns, 9);
    FieldPlace frames = row_of(4).cells[2].place;
    frames.count = 0;  // not a part of the place that is read

    CHECK(reader.place(4, columns.position_of(0)) == row_of(4).cells[0].place);
    CHECK(reader.place(4, columns.position_of(2)) == frames);
    if (has_keys) CHECK(reader.place(4, columns.position_of(std::nullopt)) == row_of(4).key);
  }
}

TEST_CASE("index: a row is packed as docs/index.md says") {
  const auto row_bytes = [](bool has_keys, bool has_records) {
    return IndexColumns(kSchema, layout_of(has_keys, has_records)).row_bytes();
  };
  constexpr std::uint64_t kFields = 20 + 8 + 24 + 8;
  CHECK(row_bytes(false, false) == kFields);
  CHECK(row_bytes(true, false) == 28 + kFields);
  CHECK(row_bytes(true, true) == 28 + kFields + 16);
}

TEST_CASE("index: rebase moves the places of every row, those of many windows too") {
  const TempDir dir;
  const IndexColumns columns(kSchema, layout_of(true, true));
  IndexWriter writer(output(dir / "a"), columns);
  constexpr std::uint64_t kRows = 20'000;  // more than 1 MiB
  for (std::uint64_t i = 0; i < kRows; ++i) writer.append(row_of(i));
  const std::uint64_t field_bases[] = {1, 2, 3, 4};
  writer.rebase(1000, field_bases, 5);
  const FileSummary summary = writer.finish().index;

  const InputFile file(dir / "a");
  IndexReader reader(file, columns, kRows);
  for (std::uint64_t i = 0; i < kRows; i += 997) {
    IndexRow expected = row_of(i);
    move_places(expected, 1000, field_bases, 5);
    CHECK(reader.row(i) == expected);
  }
  CHECK(summary.bytes == file.size());
}

TEST_CASE("index: rebase leaves a missing value missing") {
  const TempDir dir;
  const IndexColumns columns(kSchema, layout_of(true, false));
  IndexWriter writer(output(dir / "a"), columns);
  IndexRow row = row_of(1);
  row.cells[0].place = {};
  writer.append(row);
  const std::uint64_t field_bases[] = {1, 2, 3, 4};
  writer.rebase(1000, field_bases, 5);
  (void)writer.finish();

  const InputFile file(dir / "a");
  CHECK(IndexReader(file, columns, 1).row(0).cells[0].place.offset == kMissing);
}

TEST_CASE("index: another number of rows, another schema or another size is damage") {
  const TempDir dir;
  const IndexColumns columns(kSchema, layout_of(true, true));
  (void)write_index(dir / "a", 5, columns);
  const auto code_of = [&](const IndexColumns& expected, std::uint64_t rows) {
    const InputFile file(dir / "a");
    return error_of([&] { (void)IndexReader(file, expected, rows); }).code();
  };
  Schema renamed = kSchema;
  renamed.fields[0].name = "photo";

  CHECK(code_of(columns, 4) == Code::damaged);
  CHECK(code_of(columns, 6) == Code::damaged);
  CHECK(code_of(columns, ~std::uint64_t{0} / columns.row_bytes()) == Code::damaged);
  CHECK(code_of(IndexColumns(renamed, layout_of(true, true)), 5) == Code::damaged);
  std::filesystem::resize_file(dir / "a", 10);
  CHECK(code_of(columns, 5) == Code::damaged);
}

TEST_CASE("index: a row that is not there is a bug of the caller") {
  const TempDir dir;
  const IndexColumns columns(kSchema, layout_of(true, true));
  (void)write_index(dir / "a", 5, columns);
  const InputFile file(dir / "a");
  IndexReader reader(file, columns, 5);

  CHECK(error_of([&] { (void)reader.row(5); }).code() == Code::bug);
  CHECK(error_of([&] { (void)reader.place(5, 0); }).code() == Code::bug);
}

TEST_CASE("block list: hashes come back, and another number of them is damage") {
  const TempDir dir;
  const std::vector<Hash128> blocks = {{1, 2}, {3, 4}, {~std::uint64_t{0}, 0}};
  test::write_file(dir / "a", as_text(block_list_bytes(blocks)));
  const InputFile file(dir / "a");

  CHECK(read_block_list(file, 3) == blocks);
  CHECK(error_of([&] { (void)read_block_list(file, 2); }).code() == Code::damaged);
  CHECK(error_of([&] { (void)read_block_list(file, 4); }).code() == Code::damaged);
}

TEST_CASE("block count: a block for every MiB that has begun") {
  CHECK(block_count(0) == 0);
  CHECK(block_count(1) == 1);
  CHECK(block_count(kBlockBytes) == 1);
  CHECK(block_count(kBlockBytes + 1) == 2);
}

}  // namespace
}  // namespace shale
