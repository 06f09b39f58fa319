#include <filesystem>

#include <doctest/doctest.h>

#include "shale/arrays/located_rows.hpp"

#include "support/sizes.hpp"
#include "unit/arrays/located_noise.hpp"

// Rows as they are read past the page cache, against the bytes that were written.

namespace shale {
namespace {

using test::error_of;
using test::kMebi;
using test::LocatedNoise;
using test::TempDir;

/// Loads all ranges, as many at a time as fit; true if each is what was written.
bool is_right(const LocatedNoise& noise, const std::vector<ColumnRange>& ranges,
              std::uint64_t memory) {
  RowLoader loader(*noise.rows, memory);
  for (std::size_t done = 0; done < ranges.size();) {
    const std::span<const ColumnRange> left = std::span(ranges).subspan(done);
    const std::size_t loaded = loader.load(left);
    if (loaded == 0) return false;
    for (std::size_t i = 0; i < loaded; ++i) {
      if (as_text(loader.loaded(i)) != noise.all.substr(left[i].begin, left[i].bytes)) return false;
    }
    done += loaded;
  }
  return true;
}

std::vector<ColumnRange> whole_rows(const LocatedNoise& noise, std::vector<std::uint64_t> rows) {
  std::vector<ColumnRange> ranges;
  for (const std::uint64_t row : rows) ranges.push_back({row * noise.row_bytes, noise.row_bytes});
  return ranges;
}

TEST_CASE("row loader: rows of any size, close or far apart, are those of the file") {
  for (const unsigned row_bytes : {1U, 2U, 3U, 8U, 13U, 100U, 3'072U, 5'000U, 70'000U}) {
    CAPTURE(row_bytes);
    TempDir dir;
    const std::uint64_t rows = 600'000 / row_bytes;
    const LocatedNoise noise(dir, row_bytes, 1, {{77, rows}});
    for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{2}, rows / 9 + 1}) {
      std::vector<std::uint64_t> wanted;
      for (std::uint64_t row = 0; row < rows && wanted.size() < 3'000; row += step)
        wanted.push_back(row);
      if (wanted.back() != rows - 1) wanted.push_back(rows - 1);
      CHECK(is_right(noise, whole_rows(noise, wanted), kMebi));
      CHECK(is_right(noise, whole_rows(noise, wanted), 80'000));
    }
  }
}

TEST_CASE("row loader: random ranges that overlap, repeat and are parts of rows are right") {
  const std::uint64_t seed = std::random_device()();
  MESSAGE("seed " << seed);
  std::mt19937_64 dice(seed);
  for (int round = 0; round < 30; ++round) {
    TempDir dir;
    // Numbers of 4 bytes, 10 a row: parts of rows are whole numbers.
    const LocatedNoise noise(dir, 40, 4, {{dice() % 9'000, 20'000, dice() % 2 == 0}});
    std::vector<ColumnRange> ranges;
    for (int i = 0; i < 200; ++i) {
      const std::uint64_t row = dice() % (dice() % 2 == 0 ? 20'000 : 50), first = dice() % 10;
      ranges.push_back({row * 40 + first * 4, (1 + dice() % (10 - first)) * 4});
    }
    std::sort(ranges.begin(), ranges.end(),
              [](const ColumnRange& a, const ColumnRange& b) { return a.begin < b.begin; });
    CAPTURE(round);
    CHECK(is_right(noise, ranges, dice() % 2 == 0 ? kMebi : 65'536));
  }
}

TEST_CASE("row loader: big-endian numbers are turned once, however often they are asked for") {
  TempDir dir;
  const LocatedNoise noise(dir, 16, 8, {{3, 100, true}});
  CHECK(is_right(noise, {{0, 16}, {0, 16}, {0, 32}, {16, 16}, {16, 64}, {32, 16}, {72, 8}}, kMebi));
  CHECK(is_right(noise, {{0, 1600}, {16, 16}, {800, 16}, {1584, 16}}, kMebi));
}

TEST_CASE("row loader: rows of many files, some big-endian, some empty, more than stay open") {
  TempDir dir;
  std::vector<LocatedNoise::File> files;
  for (std::uint64_t i = 0; i < 150; ++i) files.push_back({i * 31, i % 5 * 3, i % 3 == 0});
  const LocatedNoise noise(dir, 6, 2, files);
  REQUIRE(noise.rows->rows() == 900);
  REQUIRE(noise.rows->bytes() == noise.all.size());

  std::vector<std::uint64_t> wanted(900);
  for (std::uint64_t row = 0; row < 900; ++row) wanted[row] = row;
  CHECK(is_right(noise, whole_rows(noise, wanted), 8 * kMebi));
  CHECK(is_right(noise, whole_rows(noise, wanted), 65'536));
  CHECK(noise.rows->end_of_file(0) == 3);
  CHECK(noise.rows->end_of_file(2) == 3);
  CHECK(noise.rows->end_of_file(3) == 9);
  CHECK(noise.rows->end_of_file(899) == 900);
}

TEST_CASE("row loader: a file without a name is read as others are") {
  TempDir dir;
  LocatedNoise noise(dir, 100, 1, {{5, 1'000}});
  noise.segments[0].file = std::make_shared<const InputFile>(dir / "rows-0");
  noise.segments[0].path = "/no/such/file";
  noise.rows = std::make_unique<LocatedRows>(100, 1, noise.segments);
  CHECK(is_right(noise, {{0, 100}, {5'000, 100}, {99'900, 100}}, kMebi));
}

TEST_CASE("row loader: a load takes what fits into the memory, and no less than one range") {
  TempDir dir;
  const LocatedNoise noise(dir, 4'096, 1, {{0, 400}});
  RowLoader loader(*noise.rows, 65'536 + 4'095);
  std::vector<std::uint64_t> wanted;
  for (std::uint64_t row = 0; row < 400; row += 20) wanted.push_back(row);
  CHECK(loader.load(whole_rows(noise, wanted)) == 16);
  CHECK(loader.load(std::vector<ColumnRange>{{0, 65'536}, {0, 4'096}, {65'536, 1}}) == 2);
  CHECK(loader.load({}) == 0);

  const Error error = error_of([&] { (void)loader.load(std::vector<ColumnRange>{{0, 65'537}}); });
  CHECK(error.code() == Code::bug);
}

TEST_CASE("row loader: a file that ends too early is damaged, with place and both numbers") {
  TempDir dir;
  const LocatedNoise noise(dir, 1'000, 1, {{96, 50}, {0, 50}});
  std::filesystem::resize_file(dir / "rows-1", 10'000);
  RowLoader loader(*noise.rows, kMebi);
  CHECK(loader.load(whole_rows(noise, {0, 49, 50, 59})) == 4);

  const Error error = error_of([&] { (void)loader.load(whole_rows(noise, {49, 60})); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.file() == dir / "rows-1");
  CHECK(error.offset() == 8'192);
  CHECK(error.message() == "2,808 bytes expected here, but the file ends after 1,808");
  CHECK(error_of([&] { (void)loader.load(whole_rows(noise, {99})); }).message() ==
        "4,944 bytes expected here, but the file ends after 0");
}

TEST_CASE("row loader: a file that is not there is told when it is needed") {
  TempDir dir;
  const LocatedNoise noise(dir, 10, 1, {{0, 50}, {0, 50}});
  std::filesystem::remove(dir / "rows-1");
  RowLoader loader(*noise.rows, kMebi);
  CHECK(loader.load(whole_rows(noise, {49})) == 1);
  const Error error = error_of([&] { (void)loader.load(whole_rows(noise, {50})); });
  CHECK(error.code() == Code::not_found);
  CHECK(error.file() == dir / "rows-1");
}

}  // namespace
}  // namespace shale
