#include <filesystem>

#include <doctest/doctest.h>

#include "shale/sampling/gathered_rows.hpp"
#include "shale/sampling/make_draw.hpp"

#include "support/sizes.hpp"
#include "unit/arrays/located_noise.hpp"
#include "unit/sampling/draw_checks.hpp"

// Rows that are gathered, from memory or from where they lie, against the bytes that were written.

namespace shale {
namespace {

using test::error_of;
using test::kMebi;
using test::LocatedNoise;
using test::TempDir;

const Events kNoEvents;

std::unique_ptr<Draw> drawn(DrawMode mode, std::uint64_t source_rows, std::uint64_t rows) {
  const DrawRequest request{.mode = mode, .rows = rows, .seed = 7, .file = {}};
  return make_draw(request, source_rows, kMebi, ".", kNoEvents);
}

std::string gathered(const LocatedNoise& noise, const Draw& draw, const GatherLimits& limits) {
  const auto stream = open_gathered_rows(*noise.rows, draw, limits, kNoEvents);
  std::string all;
  for (Bytes piece = stream->next(); !piece.empty(); piece = stream->next()) all += as_text(piece);
  CHECK(stream->next().empty());
  return all;
}

std::string expected(const LocatedNoise& noise, const Draw& draw) {
  std::string all;
  for (const std::uint64_t row : test::all_rows(draw)) all += noise.row(row);
  return all;
}

void check_gathered(const LocatedNoise& noise, std::uint64_t rows) {
  const std::uint64_t source_rows = noise.rows->rows();
  for (const DrawMode mode : {DrawMode::permute, DrawMode::replace}) {
    const auto draw =
        drawn(mode, source_rows, mode == DrawMode::permute ? std::min(rows, source_rows) : rows);
    const std::string right = expected(noise, *draw);
    for (const unsigned jobs : {1u, 2u, 8u, 256u}) {
      CAPTURE(jobs);
      CHECK((gathered(noise, *draw, {jobs, kLeastGatherMemory, true}) == right));
      CHECK((gathered(noise, *draw, {jobs, kLeastGatherMemory, false}) == right));
    }
  }
}

struct Sizes {
  std::uint64_t row_bytes, rows, drawn;
};

TEST_CASE("gathered rows: a small source is read into memory and gives rows in any order") {
  for (const Sizes& each : {Sizes{1, 5'000, 60'000}, Sizes{3, 40'000, 9'000}, Sizes{13, 1, 100'000},
                            Sizes{1'000, 600, 3'000}, Sizes{70'001, 9, 40}}) {
    CAPTURE(each.row_bytes);
    TempDir dir;
    const LocatedNoise noise(dir, each.row_bytes, 1, {{77, each.rows / 2}, {0, each.rows}});
    REQUIRE(fits_gather_memory(noise.rows->bytes(), kLeastGatherMemory));
    check_gathered(noise, each.drawn);
  }
}

TEST_CASE("gathered rows: rows are read where they lie, in any order, from files of either order") {
  for (const Sizes& each : {Sizes{4, 500'000, 3'000}, Sizes{36, 60'000, 5'000},
                            Sizes{1'000, 2'000, 5'000}, Sizes{70'000, 40, 90}}) {
    CAPTURE(each.row_bytes);
    TempDir dir;
    const LocatedNoise noise(dir, each.row_bytes, 4,
                             {{77, each.rows / 2}, {0, 1, true}, {4'096, each.rows / 2, true}});
    REQUIRE_FALSE(fits_gather_memory(noise.rows->bytes(), kLeastGatherMemory));
    check_gathered(noise, each.drawn);
  }
}

TEST_CASE("gathered rows: rows larger than the memory come in parts, of whole elements") {
  // A share of the memory is no multiple of 16.
  for (const std::uint64_t row_bytes : {5 * kMebi + 48, 3 * kMebi}) {
    TempDir dir;
    const LocatedNoise noise(dir, row_bytes, 16, {{80, 1}, {11, 2, true}});
    const auto draw = drawn(DrawMode::replace, 3, 5);
    const std::string right = expected(noise, *draw);
    for (const unsigned jobs : {1u, 2u, 8u, 256u})
      CHECK((gathered(noise, *draw, {jobs, kLeastGatherMemory, true}) == right));
  }
}

TEST_CASE("gathered rows: of no rows, or rows without bytes, nothing is handed out") {
  TempDir dir;
  const LocatedNoise noise(dir, 8, 1, {{0, 10}});
  CHECK(gathered(noise, *drawn(DrawMode::permute, 10, 0), {2, kLeastGatherMemory, true}).empty());
  const LocatedRows nothing(0, 4, {{noise.segments[0].path, nullptr, 0, 10}});
  const auto draw = drawn(DrawMode::replace, 10, 1'000'000);
  CHECK(
      open_gathered_rows(nothing, *draw, {2, kLeastGatherMemory, true}, kNoEvents)->next().empty());
  const LocatedRows none(8, 8, {});
  const auto of_none = drawn(DrawMode::permute, 0, 0);
  CHECK(
      open_gathered_rows(none, *of_none, {2, kLeastGatherMemory, true}, kNoEvents)->next().empty());
}

TEST_CASE("gathered rows: a file that was cut is told with its name and where it ends") {
  for (const std::uint64_t rows : {std::uint64_t{500}, std::uint64_t{5'000}}) {
    CAPTURE(rows);
    TempDir dir;
    const LocatedNoise noise(dir, 1'000, 1, {{0, rows}});
    std::filesystem::resize_file(noise.segments[0].path, rows * 1'000 - 1'500);
    const auto draw = drawn(DrawMode::permute, rows, rows);
    const Error error = error_of([&] {
      (void)gathered(noise, *draw, {2, kLeastGatherMemory, true});
    });
    CHECK(error.code() == Code::damaged);
    CHECK(std::string(error.what()).find("rows-0: byte ") != std::string::npos);
  }
}

TEST_CASE("gathered rows: a single element that is larger than the memory is refused") {
  TempDir dir;
  const LocatedNoise noise(dir, 3 * kMebi, 3 * kMebi, {{0, 1}});
  const auto draw = drawn(DrawMode::permute, 1, 1);
  const Error error = error_of([&] {
    (void)gathered(noise, *draw, {2, kLeastGatherMemory, true});
  });
  CHECK(error.code() == Code::limit);
}

TEST_CASE("gathered rows: who is asked to stop stops, while reading and while handing out") {
  TempDir dir;
  for (const std::uint64_t rows : {std::uint64_t{500}, std::uint64_t{5'000}}) {
    const LocatedNoise noise(dir, 1'000, 1, {{0, rows}});
    const auto draw = drawn(DrawMode::permute, rows, rows);
    const Events events{{.should_stop = [] { return true; }}};
    const Error error = error_of([&] {
      (void)open_gathered_rows(*noise.rows, *draw, {2, kLeastGatherMemory, true}, events)->next();
    });
    CHECK(error.code() == Code::interrupted);
  }
}

}  // namespace
}  // namespace shale
