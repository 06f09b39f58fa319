#include <limits>

#include <doctest/doctest.h>

#include "shale/numbers/time_text.hpp"

namespace shale {
namespace {

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(),
                       kMost = std::numeric_limits<std::int64_t>::max();

TEST_CASE("time text: dates are what NumPy writes") {
  struct Row {
    std::int64_t count;
    std::string_view descr, text;
  };
  constexpr Row kRows[] = {
      {0, "<M8[s]", "1970-01-01T00:00:00"},
      {-1, "<M8[ns]", "1969-12-31T23:59:59.999999999"},
      {1, "<M8[as]", "1970-01-01T00:00:00.000000000000000001"},
      {11'016, "<M8[D]", "2000-02-29"},
      {56, "<M8[Y]", "2026"},
      {-1, "<M8[M]", "1969-12"},
      {1, "<M8[W]", "1970-01-08"},
      {-1, "<M8[h]", "1969-12-31T23"},
      {2, "<M8[25s]", "1970-01-01T00:00:50"},
      {kMost, "<M8[ns]", "2262-04-11T23:47:16.854775807"},
      {kLeast + 1, "<M8[ns]", "1677-09-21T00:12:43.145224193"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.descr);
    CHECK(time_text(row.count, row.descr) == row.text);
  }
}

TEST_CASE("time text: what is no date keeps its number and unit") {
  CHECK(time_text(kLeast, "<M8[s]") == "NaT");
  CHECK(time_text(kLeast, "<m8[s]") == "NaT");
  CHECK(time_text(std::int64_t{-90}, "<m8[s]") == "-90 s");
  CHECK(time_text(std::int64_t{3}, "<m8[25us]") == "3 x 25 us");
  CHECK(time_text(std::int64_t{7}, "<M8") == "7");
  for (const std::string_view unit : {"Y", "M", "W", "D", "h", "m", "s", "25s"}) {
    CAPTURE(unit);
    for (const std::int64_t far : {kMost, kLeast + 1}) {
      const std::string text = time_text(far, std::string("<M8[") + std::string(unit) + "]");
      CHECK(text.starts_with(std::to_string(far)));
    }
  }
  CHECK(time_text(1e300, "<M8[s]") == "1e+300");
  CHECK(time_text(0.6, "<M8[s]") == "1970-01-01T00:00:01");
}

}  // namespace
}  // namespace shale
