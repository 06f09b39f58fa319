#include <filesystem>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/shards/index_file.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/support/toy_rows_format.hpp"
#include "tests/support/written_set.hpp"

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

TEST_CASE("index: shapes and what is absent have columns of their own, and come back") {
  const Schema schema{.fields = {{.name = "boxes",
                                  .kind = Kind::tensor,
                                  .dtype = DType::parse("<f4"),
                                  .shape = {kFreeSide, 4},
                                  .is_optional = true},
                                 {.name = "label", .kind = Kind::integer, .is_optional = true},
                                 {.name = "note", .kind = Kind::text}}};
  ShardLayout layout = layout_of(true, false);
  layout.field_part = {0, 0, 0};
  const IndexColumns columns(schema, layout);
  CHECK(columns.row_bytes() == 28 + (20 + 16 + 1) + (8 + 1) + 20);
  IndexRow full = row_of(1), lacking = row_of(2);
  full.cells.resize(3);
  full.cells[1] = {.place = {}, .integer = 7};
  full.cells[2].place = {.offset = 1, .length = 2, .crc32c = 3};
  full.record_offset = kMissing;
  full.record_length = 0;
  full.sides = {5, 4};
  lacking = full;
  lacking.cells[0] = {};
  lacking.cells[1] = {.place = {}, .integer = 0, .real = 0, .lacks_number = true};
  lacking.sides = {0, 0};
  const TempDir dir;
  IndexWriter writer(output(dir / "a"), columns);
  writer.append(full);
  writer.append(lacking);
  (void)writer.finish();
  const InputFile file(dir / "a");
  IndexReader reader(file, columns, 2);
  CHECK(reader.row(0) == full);
  CHECK(reader.row(1) == lacking);
  CHECK(is_absent(reader.row(1).cells[0], schema.fields[0]));
  CHECK(is_absent(reader.row(1).cells[1], schema.fields[1]));
  CHECK_FALSE(is_absent(reader.row(0).cells[1], schema.fields[1]));
  const std::string bytes = test::read_text(dir / "a");
  const std::string header = bytes.substr(0, columns.file_bytes(0));
  for (std::uint64_t row = 0; row < 2; ++row) {
    std::string lying = bytes;
    char& is_present = lying[columns.file_bytes(row) + 28 + 20 + 16];
    is_present = is_present == 0 ? 1 : 0;
    test::write_file(dir / "lying", lying);
    const InputFile lying_file(dir / "lying");
    IndexReader from(lying_file, columns, 2);
    const Error error = error_of([&] { (void)from.row(row); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == dir / "lying");
  }
  CHECK(header.find("('boxes.shape', '<u8', (2,)), ('boxes.present', '|b1'), ('label', '<i8'), "
                    "('label.present', '|b1')") != std::string::npos);
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

namespace {

using test::error_of;
using test::TempDir;

OutputFile list_output(const std::string& path) {
  return OutputFile(path, {.io = IoMode::buffered, .buffer_bytes = 4096, .buffers = 1});
}

FieldPlace element_of(std::uint64_t number) {
  return {.offset = 1000 * number, .length = number % 50, .crc32c = 0xabcd0000U + 7};
}

void write_list(const std::string& path, std::uint64_t count, const ElementColumns& columns) {
  ElementWriter writer(list_output(path), columns);
  for (std::uint64_t i = 0; i < count; ++i) {
    const FieldPlace one = element_of(i);
    writer.append({&one, 1});
  }
  CHECK(writer.rows() == count);
  (void)writer.finish();
}

TEST_CASE("element list: rows come back, and runs that are not there are damage") {
  for (const bool has_crc : {true, false}) {
    CAPTURE(has_crc);
    const TempDir dir;
    const ElementColumns columns(has_crc);
    write_list(dir / "a", 300, columns);
    const InputFile file(dir / "a");
    const ElementReader reader(file, columns);
    CHECK(file.size() == columns.file_bytes(300));
    CHECK(reader.rows() == 300);
    const std::vector<FieldPlace> found = reader.read(40, 60);
    REQUIRE(found.size() == 60);
    for (std::size_t i = 0; i < found.size(); ++i) {
      FieldPlace expected = element_of(40 + i);
      if (!has_crc) expected.crc32c = 0;
      CHECK(found[i] == expected);
    }
    CHECK(reader.read(300, 0).empty());
    CHECK(error_of([&] { (void)reader.read(299, 2); }).code() == Code::damaged);
    CHECK(error_of([&] { (void)reader.read(~std::uint64_t{0}, 2); }).code() == Code::damaged);
    CHECK(error_of([&] { (void)reader.read(1, ~std::uint64_t{0}); }).code() == Code::damaged);
  }
}

TEST_CASE("element list: rebasing goes through all rows, those of many windows too") {
  const TempDir dir;
  const ElementColumns columns(true);
  constexpr std::uint64_t kRows = 40'000;
  {
    ElementWriter writer(list_output(dir / "a"), columns);
    for (std::uint64_t i = 0; i < kRows; ++i) {
      const FieldPlace one = element_of(i);
      writer.append({&one, 1});
    }
    const FieldPlace missing;
    writer.append({&missing, 1});
    for (std::uint64_t done = 0; done < kRows; done += 40) writer.rebase_next(40, done);
    writer.rebase_next(1, 99);
    CHECK(error_of([&] { writer.rebase_next(1, 0); }).code() == Code::bug);
    (void)writer.finish();
  }
  const InputFile file(dir / "a");
  const std::vector<FieldPlace> found = ElementReader(file, columns).read(0, kRows + 1);
  for (std::uint64_t i = 0; i < kRows; ++i)
    REQUIRE(found[i].offset == element_of(i).offset + i / 40 * 40);
  CHECK(found[kRows].offset == kMissing);
}

TEST_CASE("element list: a file that is no list is refused") {
  const TempDir dir;
  write_list(dir / "a", 5, ElementColumns(true));
  const InputFile file(dir / "a");
  CHECK(error_of([&] { (void)ElementReader(file, ElementColumns(false)); }).code() ==
        Code::damaged);
  OutputFile cut = list_output(dir / "b");
  std::vector<std::byte> bytes(file.size() - 1);
  file.read_exact(0, bytes);
  cut.append(bytes);
  (void)cut.finish();
  const InputFile shorter(dir / "b");
  CHECK(error_of([&] { (void)ElementReader(shorter, ElementColumns(true)); }).code() ==
        Code::damaged);
}

TEST_CASE("element list: an index says where the elements of each of its lists begin") {
  const TempDir dir;
  const Schema schema{.fields = {{"left", Kind::list, {}, {}},
                                 {"label", Kind::integer, {}, {}},
                                 {"right", Kind::list, {}, {}}}};
  ShardLayout layout;
  layout.file_suffixes = {".x"};
  layout.part_file = {0, 0};
  layout.field_part = {0, 0, 1};
  layout.has_elements = true;
  const IndexColumns columns(schema, layout);
  IndexWriter writer(list_output(dir / "i"), columns, list_output(dir / "e"));
  for (std::uint32_t i = 0; i < 4; ++i) {
    IndexRow row;
    row.cells.resize(3);
    row.cells[0].place = {.offset = 0, .length = 9, .count = i};
    row.cells[2].place = {.offset = 0, .length = 9, .count = 2};
    for (std::uint32_t k = 0; k < i + 2; ++k) row.elements.push_back({.offset = k, .length = i});
    writer.append(row);
    row.elements.pop_back();
    CHECK(error_of([&] { writer.append(row); }).code() == Code::bug);
  }
  const std::uint64_t bases[] = {1000, 0, 2000};
  writer.rebase(0, bases, 0);
  const WrittenIndex written = writer.finish();
  REQUIRE(written.elements);

  const InputFile index(dir / "i"), elements(dir / "e");
  CHECK(written.elements->bytes == elements.size());
  IndexReader rows(index, columns, 4);
  const ElementReader list(elements, *columns.elements());
  CHECK(list.rows() == 0 + 1 + 2 + 3 + 8);
  std::uint64_t first = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const IndexRow row = rows.row(i);
    const FieldPlace &left = row.cells[0].place, &right = row.cells[2].place;
    CHECK(left.first == (i == 0 ? 0 : first));
    CHECK(right.first == first + i);
    first += i + 2;
    for (const FieldPlace& one : list.read(left.first, left.count)) CHECK(one.offset - 1000 < i);
    for (const FieldPlace& one : list.read(right.first, right.count))
      CHECK(one.offset - 2000 - i < 2);
  }
}

}  // namespace

namespace {

using namespace test;

const Field kCount{.name = "count", .kind = Kind::integer, .dtype = DType::parse("<i2")};
const Field kFlag{.name = "flag", .kind = Kind::integer, .dtype = DType::parse("|b1")};
const Field kDepth{
    .name = "depth", .kind = Kind::tensor, .dtype = DType::parse("|u1"), .shape = {3}};

TEST_CASE("fixed rows: a row is where arithmetic says, and its numbers are read") {
  const TempDir dir;
  write_file(dir / "a", std::string_view("..\1\0\xff\xff\3\0", 8));
  write_file(dir / "b", "#abcdefghi");
  const InputFile a(dir / "a"), b(dir / "b");
  FixedRowReader reader({{&a, &kCount, 2, 2}, {&b, &kDepth, 1, 3}});

  for (const std::uint64_t row : {2U, 0U, 1U}) {
    const IndexRow found = reader.row(row);
    REQUIRE(found.cells.size() == 2);
    CHECK(found.key.offset == kMissing);
    CHECK(found.cells[0].integer == (row == 1 ? -1 : static_cast<std::int64_t>(row + 1)));
    CHECK(found.cells[0].place == FieldPlace{.offset = 2 + 2 * row, .length = 2});
    CHECK(found.cells[1].place == FieldPlace{.offset = 1 + 3 * row, .length = 3});
  }
}

TEST_CASE("fixed rows: a number that is none, or beyond the end, is damaged at its byte") {
  const TempDir dir;
  write_file(dir / "a", std::string_view("\1\2", 2));
  const InputFile a(dir / "a");
  FixedRowReader reader({{&a, &kFlag, 0, 1}});

  CHECK(reader.row(0).cells[0].integer == 1);
  const Error error = error_of([&] { (void)reader.row(1); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.file() == dir / "a");
  CHECK(error.offset() == 1);
  CHECK(error_of([&] { (void)reader.row(2); }).code() == Code::damaged);
}

TEST_CASE("fixed rows: a run is the values of its rows, column by column") {
  const TempDir dir;
  write_file(dir / "a", "..aabbccdd");
  write_file(dir / "b", "#abcdefghijkl");
  const InputFile a(dir / "a"), b(dir / "b");
  FixedRun run(1, 2);

  CHECK(as_text(run.read({&a, &kCount, 2, 2})) == "bbcc");
  CHECK(as_text(run.read({&b, &kDepth, 1, 3})) == "defghi");

  REQUIRE(run.columns().size() == 2);
  CHECK(as_text(run.columns()[0]) == "bbcc");
}

TEST_CASE("fixed rows: a run takes the bytes it may, and one row at least") {
  const std::vector<FixedColumn> columns = {{nullptr, &kCount, 0, 2}, {nullptr, &kDepth, 0, 3}};

  CHECK(row_bytes_of(columns) == 5);
  CHECK(rows_at_once(5, 17) == 3);
  CHECK(rows_at_once(5, 4) == 1);
  CHECK(rows_at_once(0, 4) == 4);
}

TEST_CASE("fixed rows: the bytes of a row that nobody can hold do not wrap around") {
  const std::vector<FixedColumn> columns(3, {nullptr, &kDepth, 0, std::uint64_t{1} << 63});

  CHECK(row_bytes_of(columns) == kMissing);
}

// A set of one shard of three rows: its manifest, to be changed.
struct ThreeRows {
  TempDir dir;
  Manifest manifest;
  ManifestShard shard;

  ThreeRows() {
    const Schema schema{.fields = {kCount, kDepth}, .has_keys = false};
    (void)write_set(toy_rows_format, plain_samples(schema, 3, 0), dir / "out");
    manifest = read_manifest(dir / "out", [&](const ManifestShard& one) { shard = one; });
  }
  [[nodiscard]] Error refusal() const {
    return error_of([&] { const ShardReader reader(dir / "out", manifest, shard); });
  }
};

TEST_CASE("shard reader: rows that would begin or end outside of their file are damage") {
  ThreeRows set;
  CHECK_NOTHROW(ShardReader(set.dir / "out", set.manifest, set.shard));
  for (const std::uint64_t base : {std::uint64_t{17}, std::uint64_t{26}, ~std::uint64_t{0}}) {
    CAPTURE(base);
    set.shard.bases[1] = base;
    CHECK(set.refusal().code() == Code::damaged);
    CHECK(set.refusal().file() == set.dir / "out/dataset.json");
  }
  set.shard.bases[1] = 16;
  for (const std::uint64_t rows : {std::uint64_t{4}, ~std::uint64_t{0}, std::uint64_t{1} << 62}) {
    set.shard.digest.samples = rows;
    CHECK(set.refusal().code() == Code::damaged);
  }
}

TEST_CASE("shard reader: bases of more or fewer fields than the schema has are damage") {
  ThreeRows set;
  set.shard.bases.pop_back();
  CHECK(set.refusal().code() == Code::damaged);
  set.shard.bases = {16, 16, 16};
  CHECK(set.refusal().message().find("3 fields begin, but the schema has 2") != std::string::npos);
}

TEST_CASE("shard reader: values of no bytes lie anywhere in their file, however many they are") {
  const Schema schema{.fields = {{.name = "void",
                                  .kind = Kind::tensor,
                                  .dtype = DType::parse("<f4"),
                                  .shape = {0}}},
                      .has_keys = false};
  const TempDir dir;
  (void)write_set(toy_rows_format, plain_samples(schema, 5, 0), dir / "out");
  const ReadSet read = read_set(dir / "out");
  CHECK(read.samples.size() == 5);
  CHECK(read.rows[0][4].cells[0].place == FieldPlace{.offset = 16, .length = 0});
}

}  // namespace

}  // namespace shale
