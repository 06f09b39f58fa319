#include <doctest/doctest.h>

#include "shale/sampling/make_draw.hpp"
#include "shale/sampling/part_of_draw.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/sampling/draw_checks.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("part of a draw: its slots are those of the whole, asked from either side") {
  const TempDir dir;
  for (const DrawMode mode : {DrawMode::permute, DrawMode::replace}) {
    const auto whole = [&] {
      return make_draw({.mode = mode, .rows = 60, .seed = 5, .file = {}}, 100, 1 << 20, dir.path(),
                       {});
    };
    const std::vector<std::uint64_t> all = all_rows(*whole());
    for (const std::uint64_t first : {0U, 1U, 40U, 60U}) {
      CAPTURE(first);
      const std::uint64_t rows = std::min<std::uint64_t>(20, 60 - first);
      const auto part = part_of_draw(whole(), first, rows);
      CHECK(part->rows() == rows);
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
      CHECK(all_rows(*part) ==
            std::vector<std::uint64_t>(begin, begin + static_cast<std::ptrdiff_t>(rows)));
      check_both_sides(*part);
    }
  }
}

}  // namespace
}  // namespace shale
