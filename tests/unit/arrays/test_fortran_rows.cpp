#include <fstream>
#include <numeric>
#include <random>

#include <doctest/doctest.h>
#include <malloc.h>

#include "shale/arrays/fortran_rows.hpp"

#include "support/peak_memory.hpp"
#include "support/sizes.hpp"
#include "support/temp_dir.hpp"
#include "unit/io/child_process.hpp"

// The rows of arrays in Fortran order against a loop over their items.

namespace shale {
namespace {

using test::error_of;
using test::kMebi;
using test::TempDir;
using test::write_file;

constexpr const char* kNowhere = "/no/such/folder";

using Shape = std::vector<std::uint64_t>;

std::uint64_t product(std::span<const std::uint64_t> lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), std::uint64_t{1}, std::multiplies<>());
}

std::string noise(std::uint64_t bytes, std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  std::string text(bytes, '\0');
  for (char& byte : text) byte = static_cast<char>(dice());
  return text;
}

/// An array of noise, in a file or a scratch file, with other bytes before and behind it.
struct Noise {
  Noise(const TempDir& dir, Shape shape_of, std::uint64_t item_bytes_of, bool is_scratch = false)
      : shape(std::move(shape_of)), item_bytes(item_bytes_of) {
    bytes = noise(offset + product(shape) * item_bytes + 5, product(shape) + item_bytes);
    if (is_scratch) {
      auto scratch = std::make_shared<ScratchFile>(dir.path());
      scratch->append(as_bytes(bytes));
      file = scratch;
    } else {
      write_file(dir / "array", bytes);
      file = std::make_shared<InputFile>(dir / "array");
    }
  }

  [[nodiscard]] FortranArray array() const { return {file, offset, shape, item_bytes}; }
  [[nodiscard]] std::uint64_t row_bytes() const {
    return product(std::span(shape).subspan(1)) * item_bytes;
  }
  /// All rows in C order.
  [[nodiscard]] std::string rows() const {
    std::string rows(product(shape) * item_bytes, '?');
    Shape index(shape.size(), 0);
    for (std::uint64_t into = 0; into < rows.size(); into += item_bytes) {
      std::uint64_t from = 0;
      for (std::size_t axis = shape.size(); axis-- > 0;) from = from * shape[axis] + index[axis];
      rows.replace(into, item_bytes, bytes, offset + from * item_bytes, item_bytes);
      for (std::size_t axis = shape.size(); axis-- > 0 && ++index[axis] == shape[axis];)
        index[axis] = 0;
    }
    return rows;
  }

  std::uint64_t offset = 77;
  Shape shape;
  std::uint64_t item_bytes;
  std::string bytes;
  PieceSource file;
};

/// All rows, as many at a time as `next` says.
template <class Next>
std::string read_all(RowStream& stream, const Noise& noise, Next next) {
  const std::uint64_t row_bytes = noise.row_bytes();
  std::string rows(noise.shape[0] * row_bytes, '?');
  for (std::uint64_t row = 0; row < noise.shape[0];) {
    const std::uint64_t count = std::min<std::uint64_t>(next(), noise.shape[0] - row);
    stream.read_rows(
        std::as_writable_bytes(std::span(rows)).subspan(row * row_bytes, count * row_bytes));
    row += count;
  }
  return rows;
}

bool is_right(const TempDir& dir, const Noise& noise, std::uint64_t memory, std::uint64_t rows) {
  const auto stream = open_fortran(noise.array(), memory, dir.path(), {});
  return read_all(*stream, noise, [&] { return rows; }) == noise.rows();
}

struct Row {
  std::string_view name;
  Shape shape;
  std::uint64_t item_bytes;
  unsigned passes;
};
const Row kRows[] = {
    {"a chunk at a time", {40'000, 11}, 4, 1},
    {"a chunk at a time, three axes", {40'000, 2, 5}, 4, 1},
    {"a chunk at a time, four axes and odd items", {30'011, 2, 3, 2}, 3, 1},
    {"all of it in memory", {300, 200}, 8, 1},
    {"all of it in memory, four axes", {30, 4, 50, 20}, 4, 1},
    {"all of it in memory, without room for a row beside it", {3, 31, 2'000}, 4, 1},
    {"the same with two axes", {3, 62'000}, 4, 1},
    {"one row", {1, 1'000, 7}, 2, 1},
    {"one row, larger than the memory", {1, 300, 40, 50}, 4, 1},
    {"one axis", {1'000'003}, 2, 1},
    {"one column", {200'001, 1, 1}, 13, 1},
    {"large items", {3, 2, 5}, 65'536, 1},
    {"large items of one row", {1, 3, 5}, 65'536, 1},
    {"items larger than the memory", {2, 2, 2}, 1'100'000, 1},
    {"tiles of whole columns", {500, 3'000}, 4, 2},
    {"tiles of whole columns, three axes", {500, 30, 100}, 4, 2},
    {"tiles of parts of columns", {20'000, 60}, 4, 2},
    {"tiles of parts of columns, four axes", {20'011, 3, 5, 7}, 2, 2},
    {"a row that is larger than the memory", {3, 400'001}, 4, 2},
    {"the same with three axes", {3, 800, 501}, 4, 2},
    {"the same with odd items and four axes", {4, 40, 30, 101}, 13, 2},
    {"items of almost 64 KiB", {5, 3, 17}, 65'535, 2},
    {"two rows", {2, 1'000, 999}, 1, 2},
};

TEST_CASE("fortran rows: every way of reading gives the rows of a loop over the items") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    TempDir dir;
    const Noise noise(dir, row.shape, row.item_bytes);
    const FortranPlan plan = plan_fortran(row.shape, row.item_bytes, kMebi);

    CHECK(plan.passes == row.passes);
    CHECK(plan.scratch_bytes == (row.passes == 1 ? 0 : product(row.shape) * row.item_bytes));
    for (const std::uint64_t rows : {std::uint64_t{1}, std::uint64_t{97}, row.shape[0]})
      CHECK(is_right(dir, noise, kMebi, rows));
  }
}

TEST_CASE("fortran rows: an inflated member in a scratch file is read as a file is") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    TempDir dir;
    CHECK(is_right(dir, Noise(dir, row.shape, row.item_bytes, true), kMebi, 1000));
  }
}

/// Up to five axes, some of them 1 long, of about `items` items.
Shape random_shape(std::uint64_t items, std::mt19937_64& dice) {
  Shape shape(1 + dice() % 5, 1);
  while (product(shape) < items) {
    std::uint64_t& length = shape[dice() % shape.size()];
    length = length * (2 + dice() % 3) + dice() % 2;
    if (shape.size() == 1 && shape[0] > items / 2) break;
  }
  return shape;
}

TEST_CASE("fortran rows: random shapes, items, budgets and pieces give the rows of a loop") {
  const std::uint64_t seed = std::random_device()();
  MESSAGE("seed " << seed);
  std::mt19937_64 dice(seed);
  constexpr std::uint64_t kItems[] = {1, 2, 3, 4, 8, 13, 16, 32, 1'000};
  for (int round = 0; round < 60; ++round) {
    TempDir dir;
    const std::uint64_t item_bytes = kItems[dice() % std::size(kItems)];
    const std::uint64_t bytes = std::uint64_t{1} << dice() % 23;
    const Noise noise(dir, random_shape(bytes / item_bytes, dice), item_bytes, dice() % 4 == 0);
    CAPTURE(round);
    CAPTURE(item_bytes);
    CAPTURE(fmt::format("{}", fmt::join(noise.shape, ", ")));
    const std::uint64_t memory = kMebi + dice() % (2 * kMebi);
    const auto stream = open_fortran(noise.array(), memory, dir.path(), {});
    const std::uint64_t most = 1 + dice() % (noise.shape[0] + 1);
    CHECK((read_all(*stream, noise, [&] { return dice() % (most + 1); }) == noise.rows()));
  }
}

TEST_CASE("fortran rows: an array with an empty axis has rows without bytes, or none") {
  TempDir dir;
  for (const Shape& shape : {Shape{0}, Shape{0, 7}, Shape{5, 0}, Shape{5, 0, 3}, Shape{5, 2, 0},
                             Shape{1ULL << 40, 0, 1ULL << 40}}) {
    const Noise noise(dir, shape, 8);
    CHECK(plan_fortran(shape, 8, kMebi).passes == 1);
    const auto stream = open_fortran(noise.array(), kMebi, kNowhere, {});
    CHECK_NOTHROW(stream->read_rows({}));
    std::byte byte;
    CHECK(error_of([&] { stream->read_rows({&byte, 1}); }).code() == Code::bug);
  }
  CHECK_NOTHROW(
      (void)open_fortran({Noise(dir, {3, 4}, 1).file, 0, {3, 4}, 0}, kMebi, kNowhere, {}));
}

TEST_CASE("fortran rows: one pass never touches the scratch folder, two leave no names in it") {
  TempDir dir;
  const Noise small(dir, {300, 200}, 4);
  CHECK_NOTHROW((void)open_fortran(small.array(), kMebi, kNowhere, {}));

  TempDir other;
  const Noise large(other, {500, 3'000}, 4);
  TempDir scratch;
  const auto stream = open_fortran(large.array(), kMebi, scratch.path(), {});
  CHECK(test::files_in(scratch.path()).empty());
  const Error error = error_of([&] { (void)open_fortran(large.array(), kMebi, kNowhere, {}); });
  CHECK(error.code() == Code::io);
  CHECK(error.file() == kNowhere);
}

TEST_CASE("fortran rows: an array larger than its file is damaged, with both numbers") {
  TempDir dir;
  const Noise noise(dir, {10, 10}, 4);  // 482 bytes
  const auto error_for = [&](const Shape& shape, std::uint64_t offset) {
    return error_of([&] {
      (void)open_fortran({noise.file, offset, shape, 4}, kMebi, kNowhere, {});
    });
  };

  const Error error = error_for({10, 11}, 77);
  CHECK(error.code() == Code::damaged);
  CHECK(error.file() == dir / "array");
  CHECK(error.offset() == 77);
  CHECK(error.message() ==
        "an array of 2 axes and 4 bytes per item is larger than the 405 bytes left of the file");
  CHECK(error_for({10, 10}, 83).code() == Code::damaged);
  CHECK(error_for({1}, 1'000).code() == Code::damaged);
  CHECK(error_for({1ULL << 63, 2}, 0).code() == Code::damaged);
  CHECK(error_for({3, 1ULL << 32, 1ULL << 32}, 0).code() == Code::damaged);
  CHECK_NOTHROW((void)open_fortran({noise.file, 82, {10, 10}, 4}, kMebi, kNowhere, {}));
}

TEST_CASE("fortran rows: a file that is cut while it is read is damaged, with its place") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    TempDir dir;
    const Noise noise(dir, row.shape, row.item_bytes);
    const std::uint64_t end = noise.bytes.size() - 5;
    std::filesystem::resize_file(dir / "array", end - 1);
    const Error error = error_of([&] { (void)is_right(dir, noise, kMebi, 1); });

    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == dir / "array");
    REQUIRE(error.offset());
    CHECK(*error.offset() >= noise.offset);
    CHECK(*error.offset() < end);
  }
}

TEST_CASE("fortran rows: a scratch folder with too little room is refused with both numbers") {
  TempDir dir;
  const Noise noise(dir, {500, 3'000}, 4);
  const Error error = error_of([&] {
    (void)open_fortran(noise.array(), kMebi, "/proc", {});  // where nothing is ever free
  });

  CHECK(error.code() == Code::io);
  CHECK(error.file() == "/proc");
  CHECK(error.message() == "needs 5.72 MiB of free space, only 0 B available");
}

TEST_CASE("fortran rows: the first of two passes stops when it is asked to") {
  TempDir dir;
  const Noise noise(dir, {500, 3'000}, 4);
  int asked = 0;
  Events events;
  events.should_stop = [&] { return ++asked == 3; };

  CHECK(error_of([&] { (void)open_fortran(noise.array(), kMebi, dir.path(), events); }).code() ==
        Code::interrupted);
  CHECK(asked == 3);
}

TEST_CASE("fortran rows: less memory, no axes, too many rows and parts of rows are bugs") {
  TempDir dir;
  const Noise noise(dir, {10, 3}, 4);
  const auto plan = [](const Shape& shape, std::uint64_t memory) {
    return error_of([&] { (void)plan_fortran(shape, 4, memory); }).code();
  };
  CHECK(plan({10, 3}, kMebi - 1) == Code::bug);
  CHECK(plan({}, kMebi) == Code::bug);
  CHECK(plan({3, 1ULL << 32, 1ULL << 32}, kMebi) == Code::bug);

  const auto stream = open_fortran(noise.array(), kMebi, dir.path(), {});
  std::vector<std::byte> rows(11 * 12);
  CHECK(error_of([&] { stream->read_rows(rows); }).code() == Code::bug);
  CHECK(error_of([&] { stream->read_rows(std::span(rows).first(13)); }).code() == Code::bug);
  CHECK_NOTHROW(stream->read_rows(std::span(rows).first(120)));
  CHECK(error_of([&] { stream->read_rows(std::span(rows).first(12)); }).code() == Code::bug);
}

TEST_CASE("fortran rows: memory stays within what was given, in one pass and in two") {
  for (const Shape& shape :
       {Shape{2'000'000, 8}, Shape{2'000, 8'000}, Shape{2'000, 80, 100}, Shape{200, 400, 600},
        Shape{4, 2'000, 2'000}, Shape{1, 4'000, 4'000}}) {
    CAPTURE(fmt::format("{}", fmt::join(shape, ", ")));
    TempDir dir("/var/tmp");  // a tmpfs counts as nobody's memory, but let it not
    write_file(dir / "array", "");
    std::filesystem::resize_file(dir / "array", product(shape) * 4);
    const std::string text = test::text_from_child([&] {
      const FortranArray array{std::make_shared<InputFile>(dir / "array"), 0, shape, 4};
      std::vector<std::byte> row(product(std::span(shape).subspan(1)) * 4, std::byte{1});
      ::malloc_trim(0);  // what other tests left in the heap is resident, and would not show
      std::ofstream("/proc/self/clear_refs") << "5";  // the peak begins here
      const std::uint64_t before = test::peak_kib();
      const auto stream = open_fortran(array, 4 * kMebi, dir.path(), {});
      for (std::uint64_t i = 0; i < shape[0]; ++i) stream->read_rows(row);
      // A mebibyte is code, tables and a ring that are touched for the first time.
      const std::uint64_t more = test::peak_kib() - before;
      return more <= 5 * 1024 ? std::string("within") : fmt::format("{} KiB more", more);
    });
    CHECK(text == "within");
  }
}

}  // namespace
}  // namespace shale
