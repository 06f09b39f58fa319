#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/ops/draw_options.hpp"

#include "tests/support/temp_dir.hpp"

using namespace shale;
using test::error_of;

namespace {

std::string refusal(const DrawOptions& options) {
  const Error error = error_of([&] { (void)draw_request(options); });
  CHECK(error.code() == Code::usage);
  return error.message();
}

}  // namespace

TEST_CASE("draw options: each way to draw alone, none is the shuffled order") {
  CHECK(draw_request({}).mode == DrawMode::permute);
  CHECK(draw_request({.permute = true}).mode == DrawMode::permute);
  CHECK(draw_request({.replace = true}).mode == DrawMode::replace);
  const DrawRequest listed = draw_request({.indices = "i.npy"});
  CHECK(listed.mode == DrawMode::indices);
  CHECK(listed.file == "i.npy");
  const DrawRequest weighed = draw_request({.weights = "w.npy", .rows = 7, .seed = 3});
  CHECK(weighed.mode == DrawMode::weights);
  CHECK(weighed.file == "w.npy");
  CHECK(weighed.rows == std::uint64_t{7});
  CHECK(weighed.seed == 3);
}

TEST_CASE("draw options: weights draw with replacement, also if that is said") {
  CHECK(draw_request({.replace = true, .weights = "w.npy"}).mode == DrawMode::weights);
}

TEST_CASE("draw options: two ways to draw are refused by name") {
  CHECK(refusal({.permute = true, .replace = true}) ==
        "--permute and --replace exclude each other");
  CHECK(refusal({.replace = true, .indices = "i.npy"}) ==
        "--replace and --indices exclude each other");
  CHECK(refusal({.indices = "i.npy", .weights = "w.npy"}) ==
        "--indices and --weights exclude each other");
  CHECK(refusal({.permute = true, .weights = "w.npy"}) ==
        "--permute and --weights exclude each other");
}

TEST_CASE("draw options: a list of rows leaves nothing to their number and the seed") {
  CHECK(refusal({.indices = "i.npy", .rows = 3, .seed = 3}) ==
        "--rows has no effect with --indices");
  CHECK(refusal({.indices = "i.npy", .seed = 0}) == "--seed has no effect with --indices");
}
