#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/base/transpose.hpp"

#include "support/sampled_walk.hpp"
#include "support/temp_dir.hpp"

using namespace shale;
using namespace shale::test;

namespace {

constexpr std::byte kUntouched{0xa5};

std::vector<std::byte> noise(std::uint64_t bytes, std::mt19937_64& dice) {
  std::vector<std::byte> noise(bytes);
  for (std::byte& byte : noise) byte = static_cast<std::byte>(dice());
  return noise;
}

/// What a grid's definition says, byte by byte.
std::vector<std::byte> expected(const Transposition& grid, Bytes from, std::uint64_t size) {
  std::vector<std::byte> into(size, kUntouched);
  for (std::uint64_t line = 0; line < grid.lines; ++line)
    for (std::uint64_t item = 0; item < grid.length; ++item)
      for (std::uint64_t byte = 0; byte < grid.item_bytes; ++byte)
        into[line * grid.into_line + item * grid.into_item + byte] =
            from[line * grid.from_line + item * grid.item_bytes + byte];
  return into;
}

/// Bytes a grid spans; a few more follow, and must stay as they are.
std::uint64_t span_of(std::uint64_t lines, std::uint64_t line_step, std::uint64_t length,
                      std::uint64_t item_step, std::uint64_t item_bytes) {
  return lines == 0 || length == 0
             ? 0
             : (lines - 1) * line_step + (length - 1) * item_step + item_bytes;
}

bool is_right(const Transposition& grid, std::mt19937_64& dice) {
  const std::uint64_t from_size =
      span_of(grid.lines, grid.from_line, grid.length, grid.item_bytes, grid.item_bytes);
  const std::uint64_t into_size =
      span_of(grid.lines, grid.into_line, grid.length, grid.into_item, grid.item_bytes);
  // Not aligned to anything: rows of arrays begin where they will.
  const std::vector<std::byte> from = noise(from_size + 1, dice);
  std::vector<std::byte> into(into_size + 65, kUntouched);
  transpose(grid, Bytes(from).subspan(1), std::span(into).subspan(1));
  const std::vector<std::byte> wanted = expected(grid, Bytes(from).subspan(1), into_size + 64);
  return into[0] == kUntouched && std::equal(wanted.begin(), wanted.end(), into.begin() + 1);
}

constexpr std::uint64_t kItemBytes[] = {1, 2, 3, 4, 5, 8, 12, 13, 16, 17, 64, 300};
constexpr std::uint64_t kLines[] = {0, 1, 2, 3, 7, 15, 16, 17, 33, 64, 65, 130};
constexpr std::uint64_t kLengths[] = {0, 1, 2, 5, 15, 16, 17, 63, 65, 256, 259};

TEST_CASE("transpose: every item size and every edge of a block gives what the definition says") {
  std::mt19937_64 dice(1);
  for (const std::uint64_t item : kItemBytes) {
    for (const std::uint64_t lines : kLines) {
      for (const std::uint64_t length : kLengths) {
        if (test::kIsInstrumented && dice() % 4 != 0) continue;
        CAPTURE(item);
        CAPTURE(lines);
        CAPTURE(length);
        CHECK(is_right({lines, length, item, length * item, item, lines * item}, dice));
      }
    }
  }
}

TEST_CASE("transpose: gaps between lines, items and rows are skipped and stay untouched") {
  const std::uint64_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 dice(seed);
  const auto up_to = [&](std::uint64_t most) { return dice() % (most + 1); };
  for (int round = 0; round < 300; ++round) {
    Transposition grid;
    grid.item_bytes = kItemBytes[dice() % std::size(kItemBytes)];
    grid.lines = up_to(70);
    grid.length = up_to(70);
    grid.from_line = grid.length * grid.item_bytes + up_to(9);
    const std::uint64_t gap = up_to(2);
    if (dice() % 2 == 0) {  // items of a line lie apart
      grid.into_line = grid.item_bytes + gap;
      grid.into_item = grid.lines * grid.into_line + up_to(9);
    } else {  // they stay together
      grid.into_item = grid.item_bytes + gap;
      grid.into_line = grid.length * grid.into_item + up_to(9);
    }
    CAPTURE(grid.item_bytes);
    CAPTURE(grid.lines);
    CAPTURE(grid.length);
    CAPTURE(gap);
    CHECK(is_right(grid, dice));
  }
}

TEST_CASE("transpose: a grid that reaches past its memory is a bug, and nothing is written") {
  std::vector<std::byte> from(24);
  std::vector<std::byte> into(24, kUntouched);
  const Transposition grid{2, 3, 4, 12, 4, 8};
  const auto code_of = [&](std::size_t from_size, std::size_t into_size) {
    return error_of([&] {
             transpose(grid, Bytes(from).first(from_size), std::span(into).first(into_size));
           })
        .code();
  };

  CHECK(code_of(23, 24) == Code::bug);
  CHECK(code_of(24, 23) == Code::bug);
  CHECK(into == std::vector<std::byte>(24, kUntouched));
  CHECK_NOTHROW(transpose(grid, from, into));
}

}  // namespace
