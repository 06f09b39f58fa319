#include <doctest/doctest.h>

#include "shale/shards/element_list.hpp"
#include "shale/shards/index_file.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
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
}  // namespace shale
