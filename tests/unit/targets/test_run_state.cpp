#include <doctest/doctest.h>

#include "shale/targets/run_state.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("run state: its line holds all of it") {
  RunState state;
  state.samples = 9;
  state.bad = 2;
  state.skipped = 1;
  state.skipped_list = {70, xxh3_128(as_bytes("d"))};
  state.images_list = {1, xxh3_128(as_bytes("e"))};
  state.read.samples = 9;
  state.read.content = xxh3_128(as_bytes("a"));
  state.read.ordered = xxh3_128(as_bytes("b"));
  state.read.keys = xxh3_128(as_bytes("c"));
  for (const bool has_images : {false, true}) {
    if (has_images) state.label = 7;
    if (has_images) state.unfit = {.count = 3, .number = 5, .key = "a b:c", .first = "300 = \xff"};
    if (has_images) state.images = {{{"jpeg", 3}, {"png", 6}}, {{"wrong-suffix", 2}}};
    const RunState again = state_from_line(state_line(state));
    CHECK(state_line(state).find('\t') == std::string::npos);
    CHECK(again.samples == 9);
    CHECK(again.bad == 2);
    CHECK(again.skipped == 1);
    CHECK(again.skipped_list == state.skipped_list);
    CHECK(again.images_list == state.images_list);
    CHECK(again.read == state.read);
    CHECK(again.label == state.label);
    CHECK(again.unfit == state.unfit);
    CHECK(again.images.has_value() == has_images);
    if (!has_images) continue;
    CHECK(again.images->types == state.images->types);
    CHECK(again.images->odd == state.images->odd);
  }
}

TEST_CASE("run state: a line that is not one is damaged") {
  for (const char* line : {"samples", "samples=x", "samples=1 content=zz", "samples=-1",
                           "skipped.csv=7", "images.csv=7:zz", "unfit=1:2:6:", "unfit=1:2:zz:"}) {
    CAPTURE(line);
    CHECK(error_of([&] { (void)state_from_line(line); }).code() == Code::damaged);
  }
}

}  // namespace
}  // namespace shale
