#include <chrono>

#include <doctest/doctest.h>

#include "shale/base/progress_meter.hpp"

namespace shale {
namespace {

using std::chrono::seconds;
constexpr ProgressMeter::Clock::time_point kBegin{seconds(1000)};

}  // namespace

TEST_CASE("progress meter: a line per minute comes after a minute, then a minute after the last") {
  ProgressMeter meter(seconds(60), false, kBegin);
  CHECK(!meter.report(0, 100, 0, kBegin));
  CHECK(!meter.report(50, 100, 0, kBegin + seconds(59)));
  CHECK(meter.report(51, 100, 0, kBegin + seconds(70)));
  CHECK(!meter.report(60, 100, 0, kBegin + seconds(129)));
  CHECK(meter.report(61, 100, 0, kBegin + seconds(130)));
  CHECK(!meter.report(100, 100, 0, kBegin + seconds(131)));
}

TEST_CASE(
    "progress meter: with both ends the first report and the complete one are shown at once") {
  ProgressMeter meter(seconds(1), true, kBegin);
  CHECK(meter.report(0, 100, 0, kBegin));
  CHECK(!meter.report(1, 100, 0, kBegin));
  CHECK(meter.report(100, 100, 0, kBegin));
}

TEST_CASE("progress meter: rate and time left follow from what is done") {
  ProgressMeter meter(seconds(1), false, kBegin);
  const auto view = meter.report(25, 100, 5000, kBegin + seconds(10));
  REQUIRE(view);
  CHECK(view->share == 0.25);
  CHECK(view->seconds == 10);
  CHECK(view->bytes_per_second == 500);
  CHECK(view->seconds_left == 30);
}

TEST_CASE("progress meter: of a stream, whose total is not known, no share and no end are told") {
  ProgressMeter meter(seconds(1), false, kBegin);
  const auto view = meter.report(25, 0, 5000, kBegin + seconds(10));
  REQUIRE(view);
  CHECK(view->share == 0);
  CHECK(view->bytes_per_second == 500);
  CHECK(!view->seconds_left);
}

TEST_CASE("progress meter: nothing is divided by zero") {
  ProgressMeter meter(seconds(1), true, kBegin);
  const auto nothing_done = meter.report(0, 100, 0, kBegin);
  REQUIRE(nothing_done);
  CHECK(nothing_done->bytes_per_second == 0);
  CHECK(!nothing_done->seconds_left);
  const auto nothing_to_do = meter.report(0, 0, 0, kBegin + seconds(2));
  REQUIRE(nothing_to_do);
  CHECK(nothing_to_do->share == 1);
  CHECK(nothing_to_do->seconds_left == 0);
}

}  // namespace shale
