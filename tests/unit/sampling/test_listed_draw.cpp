#include <limits>
#include <random>
#include <thread>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/sampling/listed_draw.hpp"

#include "tests/support/npy_numbers.hpp"
#include "tests/support/sizes.hpp"
#include "tests/support/temp_dir.hpp"
#include "tests/unit/sampling/draw_checks.hpp"

namespace shale {
namespace {

using test::all_places;
using test::all_rows;
using test::check_both_sides;
using test::error_of;
using test::kIntegerTypes;
using test::kMebi;
using test::npy_as;
using test::npy_of;
using test::npy_text;
using test::TempDir;
using test::write_file;

using Rows = std::vector<std::uint64_t>;
constexpr const char* kNowhere = "/no/such/folder";

struct List {
  explicit List(const std::string& content) { write_file(path, content); }
  [[nodiscard]] std::unique_ptr<Draw> open(std::uint64_t source_rows, std::uint64_t memory = kMebi,
                                           const Events& events = {}) const {
    return open_listed_draw(path, source_rows, memory, memory > kMebi ? kNowhere : dir.path(),
                            events);
  }
  [[nodiscard]] Error error(std::uint64_t source_rows) const {
    const Error error = error_of([&] { (void)open(source_rows); });
    CHECK(error.file() == path);
    return error;
  }

  TempDir dir;
  std::string path = dir / "rows.npy";
};

std::vector<std::uint32_t> many_rows(std::size_t count, std::uint32_t source_rows) {
  std::mt19937 dice(12);
  std::vector<std::uint32_t> rows(count);
  for (std::uint32_t& row : rows) row = static_cast<std::uint32_t>(dice()) % source_rows;
  return rows;
}

TEST_CASE("listed draw: rows of every integer dtype and byte order are read, negative ones too") {
  for (const std::string_view descr : kIntegerTypes) {
    CAPTURE(descr);
    const bool is_signed = descr[1] == 'i';
    const int last = is_signed ? -1 : 99, first = is_signed ? -100 : 0;
    const List list(npy_as<int>(descr, {3, last, 0, 99, first, 3}));
    const auto draw = list.open(100);
    CHECK(draw->source_rows() == 100);
    CHECK(draw->rows() == 6);
    CHECK(all_rows(*draw) == Rows{3, 99, 0, 99, 0, 3});
    check_both_sides(*draw);
  }
}

TEST_CASE("listed draw: a sweep goes by row, and by slot where the row is the same") {
  const List list(npy_as<int>("<i8", {5, 2, 5, -1, 2, 0}));
  Rows rows, slots;
  for (const DrawnPlace& place : all_places(*list.open(7))) {
    rows.push_back(place.row);
    slots.push_back(place.slot);
  }
  CHECK(rows == Rows{0, 2, 2, 5, 5, 6});
  CHECK(slots == Rows{5, 1, 4, 0, 2, 3});
}

TEST_CASE("listed draw: both sides agree for lists and sources of all small sizes") {
  for (const std::uint32_t source_rows : {1U, 2U, 5U, 64U, 100U}) {
    for (const std::size_t count : {0U, 1U, 3U, 100U, 1000U}) {
      CAPTURE(source_rows);
      CAPTURE(count);
      const List list(npy_of("<u4", many_rows(count, source_rows)));
      check_both_sides(*list.open(source_rows));
    }
  }
}

TEST_CASE("listed draw: an empty list fits a source without rows, in either order of axes") {
  for (const bool is_fortran : {false, true}) {
    const auto draw = List(npy_text("<i8", {0}, "", is_fortran)).open(0);
    CHECK(draw->rows() == 0);
    CHECK(all_places(*draw).empty());
  }
}

TEST_CASE("listed draw: what is sorted in memory and what is spilled are the same") {
  const std::vector<std::uint32_t> numbers = many_rows(200'000, 50'000);
  const List list(npy_of(">u4", numbers));
  const auto spilled = list.open(50'000);
  const auto kept = list.open(50'000, 16 * kMebi);

  check_both_sides(*spilled);

  CHECK(all_rows(*spilled) == Rows(numbers.begin(), numbers.end()));
  CHECK(test::files_in(list.dir.path()) == std::vector<std::string>{"rows.npy"});
  const auto a = all_places(*spilled, 7'777), b = all_places(*kept);
  REQUIRE(a.size() == b.size());
  CHECK(std::equal(a.begin(), a.end(), b.begin(), [](const DrawnPlace& one, const DrawnPlace& two) {
    return one.row == two.row && one.slot == two.slot;
  }));
}

TEST_CASE("listed draw: rows past 2^32 are sorted as numbers, in memory and spilled") {
  std::vector<std::int64_t> numbers(70'000);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<std::int64_t>((i * 0x9e3779b97f4a7c15U) >> 1);
  const List list(npy_of("<i8", numbers));
  constexpr std::uint64_t kRows = (std::uint64_t{1} << 63) - 1;
  check_both_sides(*list.open(kRows));
  check_both_sides(*list.open(kRows, 16 * kMebi));
}

TEST_CASE("listed draw: what a sweep takes of the scratch folder is told beforehand") {
  const List list(npy_of("<u4", many_rows(200'000, 50'000)));
  CHECK(list.open(50'000, 16 * kMebi)->sweep_scratch().most == 0);
  const auto spilled = list.open(50'000);
  CHECK(spilled->sweep_scratch().most == 200'000 * 2 * 20);
  CHECK(spilled->sweep_scratch().kept == 200'000 * sizeof(DrawnPlace));
  spilled->prepare_sweep({});
  CHECK(spilled->sweep_scratch().most == 0);
}

TEST_CASE("listed draw: its sort stops when it is asked to, and may be begun again") {
  const List list(npy_of("<u4", many_rows(200'000, 50'000)));
  int times_in_memory = 3;
  for (const std::uint64_t memory : {16 * kMebi, kMebi}) {
    CAPTURE(memory);
    int asked = 0, stop_at = 0;
    Events events;
    events.should_stop = [&] { return ++asked == stop_at; };
    list.open(50'000, memory)->prepare_sweep(events);
    const int times = asked;
    CHECK(times > times_in_memory);  // on disk it is asked while the entries are merged, too
    times_in_memory = times;

    const auto draw = list.open(50'000, memory);
    for (stop_at = 1; stop_at <= times; stop_at += (times - 1) / 3) {
      CAPTURE(stop_at);
      asked = 0;
      CHECK(error_of([&] { draw->prepare_sweep(events); }).code() == Code::interrupted);
      CHECK(asked == stop_at);
    }
    check_both_sides(*draw);
  }
}

TEST_CASE("listed draw: threads may sweep at once") {
  const std::vector<std::uint32_t> numbers = many_rows(50'000, 1'000);
  const List list(npy_of("<u4", numbers));
  const auto draw = list.open(1'000);
  draw->prepare_sweep({});
  std::vector<std::size_t> found(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t& places : found)
      threads.emplace_back([&] { places = all_places(*draw, 1'000).size(); });
  }
  CHECK(found == std::vector<std::size_t>(4, 50'000));
}

TEST_CASE("listed draw: a row outside the source is named with its entry and place") {
  struct Row {
    std::string content;
    std::string_view message;
    std::uint64_t offset;
  };
  std::vector<int> far(10'000, 9);
  far[9'000] = 10;
  const Row rows[] = {
      {npy_as<int>("<i4", {0, 10}), "entry 1 is row 10, but the source has 10 rows", 128 + 4},
      {npy_as<int>("<i8", {9, -10, -11}), "entry 2 is row -11, but the source has 10 rows",
       128 + 16},
      {npy_as<int>("|i1", {-128}), "entry 0 is row -128, but the source has 10 rows", 128},
      {npy_as<int>("|u1", {255}), "entry 0 is row 255, but the source has 10 rows", 128},
      {npy_of<std::uint64_t>(">u8", {~std::uint64_t{0}}),
       "entry 0 is row 18446744073709551615, but the source has 10 rows", 128},
      {npy_of<std::int64_t>("<i8", {std::numeric_limits<std::int64_t>::min()}),
       "entry 0 is row -9223372036854775808, but the source has 10 rows", 128},
      {npy_as("<i2", far), "entry 9000 is row 10, but the source has 10 rows", 128 + 18'000},
  };
  for (const Row& row : rows) {
    const Error error = List(row.content).error(10);
    CHECK(error.code() == Code::schema);
    CHECK(error.message() == row.message);
    CHECK(error.offset() == row.offset);
    CHECK(error.hint() == "use row numbers from -10 to 9");
  }
}

TEST_CASE("listed draw: a list that changes after it was opened is checked again") {
  const List list(npy_as<int>("<i4", {1, 2, 3}));
  const auto draw = list.open(10);
  write_file(list.path, npy_as<int>("<i4", {1, 2, 30}));
  for (const auto& act : {std::function([&] { (void)all_rows(*draw); }),
                          std::function([&] { (void)all_places(*draw); })}) {
    const Error error = error_of(act);
    CHECK(error.code() == Code::schema);
    CHECK(error.offset() == 136);
  }
  write_file(list.path, npy_as<int>("<i4", {4, 5, 6}));
  CHECK(all_places(*draw).back().row == 6);  // a sort that failed is tried again
}

TEST_CASE("listed draw: bools and floats are no row numbers") {
  const Error mask = List(npy_as<int>("|b1", {0, 1})).error(2);
  CHECK(mask.code() == Code::schema);
  CHECK(mask.message() == "holds a mask of bools, expected row numbers");
  CHECK(mask.hint() == "save numpy.flatnonzero(mask)");
  const Error real = List(npy_as<int>("<f4", {0, 1})).error(2);
  CHECK(real.code() == Code::schema);
  CHECK(real.message() == "row numbers are float32, expected integers");
  CHECK(real.hint() == "save them with .astype(numpy.int64)");
}

TEST_CASE("listed draw: no row can be listed of a source without rows") {
  const Error error = List(npy_as<int>("<i4", {0})).error(0);
  CHECK(error.code() == Code::usage);
  CHECK(error.message() == "1 rows are listed, but the source has none");
}

TEST_CASE("listed draw: the checking pass can be stopped") {
  const List list(npy_of("<u4", many_rows(20'000, 100)));
  for (const int at : {0, 2}) {
    int asked = 0;
    Events events;
    events.should_stop = [&] { return asked++ == at; };
    const Error error = error_of([&] { (void)list.open(100, kMebi, events); });
    CHECK(error.code() == Code::interrupted);
    CHECK(asked == at + 1);
  }
}

}  // namespace
}  // namespace shale
