#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/report/svg_chart.hpp"

#include "support/xml_check.hpp"

using namespace shale;
using shale::test::XmlCheck;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

std::size_t count_of(const std::string& text, std::string_view part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

ChartFrame frame_of_tests() {
  return {"id-1",          "title <1>", "description & more", {{0, "left"}, {1, "right"}},
          {{0.5, "half"}}, 100};
}

}  // namespace

TEST_CASE("svg_bars: each value is a bar as tall as its share of the plot") {
  const std::string svg =
      svg_bars(frame_of_tests(), {{0, "none"}, {0.5, "half"}, {1, "all", true}, {1e-9, "little"}});

  CHECK(XmlCheck::problem_of(svg) == "");
  CHECK(svg.find("height=\"0\"><title>none</title>") != std::string::npos);
  CHECK(svg.find("height=\"50\"><title>half</title>") != std::string::npos);
  CHECK(svg.find("class=\"bar on\"") != std::string::npos);
  CHECK(svg.find("height=\"100\"><title>all</title>") != std::string::npos);
  CHECK(svg.find("height=\"1.5\"><title>little</title>") != std::string::npos);  // never invisible
}

TEST_CASE("svg charts: a chart is an image with a title and a description, both escaped") {
  for (const std::string& svg :
       {svg_bars(frame_of_tests(), {{1, "bar"}}), svg_line(frame_of_tests(), {{0, 1}})}) {
    CAPTURE(svg);
    CHECK(XmlCheck::problem_of(svg) == "");
    CHECK(svg.find("role=\"img\" aria-labelledby=\"id-1-title id-1-about\"") != std::string::npos);
    CHECK(svg.find("<title id=\"id-1-title\">title &lt;1&gt;</title>") != std::string::npos);
    CHECK(svg.find("<desc id=\"id-1-about\">description &amp; more</desc>") != std::string::npos);
    CHECK(svg.find("text-anchor=\"start\">left<") != std::string::npos);
    CHECK(svg.find("text-anchor=\"end\">right<") != std::string::npos);
  }
}

TEST_CASE("svg charts: values that cannot be drawn leave no nan, inf or exponent behind") {
  const std::vector<double> odd = {kNaN, kInf, -kInf, 1e300, -1e300, 5e-324, 0.5};
  std::vector<ChartBar> bars;
  for (const double value : odd) bars.push_back({value, "bar"});
  const std::string svgs[] = {svg_bars(frame_of_tests(), bars),
                              svg_bars(frame_of_tests(), {}),
                              svg_line(frame_of_tests(), {odd, odd, odd}),
                              svg_line(frame_of_tests(), {}),
                              svg_sparkline("line", odd),
                              svg_sparkline("line", {}),
                              svg_sparkline("line", {kNaN}),
                              svg_sparkline("line", {std::numeric_limits<double>::max(),
                                                     std::numeric_limits<double>::lowest()}),
                              svg_share(kNaN),
                              svg_scale("scale", kInf)};
  for (const std::string& svg : svgs) {
    CAPTURE(svg);
    CHECK(XmlCheck::problem_of(svg) == "");
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
    CHECK(svg.find("e+") == std::string::npos);
  }
}

TEST_CASE("svg_sparkline: the smallest value is below, the largest above, what is missing a gap") {
  const std::string svg = svg_sparkline("v", {1, 3, kNaN, 2});
  CHECK(svg.find("d=\"M0 960L333.33 40M1000 500\"") != std::string::npos);
  CHECK(count_of(svg, "aria-label=\"v\"") == 1);
}

TEST_CASE("svg_line: the band encloses the line") {
  const std::string svg = svg_line(frame_of_tests(), {{0.5, 0.5}, {0, 0.25}, {1, 0.75}});
  CHECK(svg.find("d=\"M0 0H500L500 250H1000L1000 750H500L500 1000H0Z\"") != std::string::npos);
}

TEST_CASE("round_ticks: whole numbers in round steps, not more than asked for") {
  struct Row {
    double most;
    std::size_t count;
    std::vector<double> ticks;
  };
  const Row rows[] = {{0, 3, {}},
                      {1, 3, {0, 1}},
                      {3, 3, {0, 1, 2, 3}},
                      {4, 3, {0, 2, 4}},
                      {1300, 3, {0, 500, 1000}},
                      {10, 1, {0, 10}},
                      {kInf, 3, {}},
                      {kNaN, 3, {}},
                      {7, 0, {}}};
  for (const Row& row : rows) {
    CAPTURE(row.most);
    CHECK(round_ticks(row.most, row.count) == row.ticks);
  }
  CHECK(round_ticks(1e300, 3).size() <= 4);
}
