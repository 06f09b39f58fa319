#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/report/page_charts.hpp"

using namespace shale;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

const HistogramWords kWords = {"id-1", "Sides", "side", "image", "images"};

Json histogram_of(const std::vector<double>& edges) {
  Json bars = Json::array();
  for (std::size_t i = 0; i + 1 < edges.size(); ++i)
    bars.push_back(Json::array({edges[i], edges[i + 1], i}));
  return {{"bars", bars}};
}

}  // namespace

TEST_CASE("histogram view: a bar is as tall as its share of the highest, and none is invisible") {
  const Json bars = Json::array({{0, 1, 0}, {1, 2, 1}, {2, 3, 2}, {3, 4, 1'000'000'000}});

  const Json view = histogram_view({{"bars", bars}, {"unit", "pixels"}}, kWords);

  CHECK(view["bars"][0]["height"] == "0");
  CHECK(view["bars"][1]["height"] == "1.5");
  CHECK(view["bars"][3]["height"] == "160");
  CHECK(view["bars"][3]["text"] == "3 pixels to 4 pixels: 1,000,000,000 images");
  CHECK(view["about"] ==
        "4 bars from 0 pixels to 4 pixels; the highest, 3 pixels to 4 pixels, has 1,000,000,000.");
  CHECK(view["across"].front()["anchor"] == "start");
  CHECK(view["across"].back()["anchor"] == "end");
}

TEST_CASE("histogram view: one bar is a sentence, and no bars are nothing") {
  CHECK(histogram_view(histogram_of({}), kWords).is_null());
  CHECK(histogram_view(Json(), kWords).is_null());
  const Json one = {{"bars", Json::array({{2048, 2048, 50}})}, {"unit", "bytes"}};
  CHECK(histogram_view(one, kWords)["only"] == "50 images, all of them 2 KiB");
}

TEST_CASE("histogram view: the edges of times are dates") {
  HistogramWords words = kWords;
  words.dtype = "datetime64[D]";
  const Json view = histogram_view(histogram_of({0, 1, 2}), words);
  CHECK(view["ranges"][0]["range"] == "1970-01-01 to 1970-01-02");
}

TEST_CASE("page charts: values that cannot be drawn leave no nan, inf or exponent behind") {
  const std::vector<double> odd = {kNaN, kInf, -kInf, 1e300, -1e300, 5e-324, 0.5};
  const Json view = histogram_view(histogram_of(odd), kWords);
  std::vector<std::string> places = {
      sparkline_path(odd),
      sparkline_path({}),
      sparkline_path({kNaN}),
      sparkline_path({std::numeric_limits<double>::max(), std::numeric_limits<double>::lowest()}),
      percent_place(kNaN),
      percent_place(kInf)};
  for (const Json& bar : view["bars"])
    for (const char* name : {"x", "y", "width", "height"}) places.push_back(bar[name]);
  for (const std::string& place : places) {
    CAPTURE(place);
    CHECK(place.find("nan") == std::string::npos);
    CHECK(place.find("inf") == std::string::npos);
    CHECK(place.find("e+") == std::string::npos);
  }
}

TEST_CASE("sparkline path: the smallest value is below, the largest above, a missing one a gap") {
  CHECK(sparkline_path({1, 3, kNaN, 2}) == "M0 960L333.33 40M1000 500");
}

TEST_CASE("order chart: the band encloses the line") {
  const Json order = {{"runs", Json::array({{0, 0, 2, 4}, {5, 1, 2, 3}})}};
  const Json chart = order_chart(order);
  CHECK(chart["line"]["band"] == "M0 0H500L500 250H1000L1000 750H500L500 1000H0Z");
  CHECK(chart["line"]["median"] == "M0 500L1000 500");
}

TEST_CASE("value words: integers exactly, reals in four digits, times as dates") {
  CHECK(value_words(std::uint64_t{18'446'744'073'709'551'615U}, "uint64") ==
        "18,446,744,073,709,551,615");
  CHECK(value_words(std::numeric_limits<std::int64_t>::min(), "int64") ==
        "-9,223,372,036,854,775,808");
  CHECK(value_words(0.0125, "float32") == "0.0125");
  CHECK(value_words(31, "datetime64[D]") == "1970-02-01");
  CHECK(value_words(90, "timedelta64[s]") == "90 s");
  CHECK(value_words(nullptr, "float32").empty());
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
