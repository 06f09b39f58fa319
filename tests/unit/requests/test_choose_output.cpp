#include <doctest/doctest.h>

#include "shale/requests/choose_output.hpp"

#include "tests/support/temp_dir.hpp"

using namespace shale;
using test::error_of;

namespace {

ConvertRequest chosen(const std::string& output, const OutputOptions& options) {
  ConvertRequest request;
  request.output = output;
  choose_output(request, options);
  return request;
}

std::string refusal(const std::string& output, const OutputOptions& options) {
  const Error error = error_of([&] { (void)chosen(output, options); });
  CHECK(error.code() == Code::usage);
  return error.message();
}

const std::string kGrid = "grid";  // the format of these tests

}  // namespace

TEST_CASE("choose output: a suffix makes it one file of that format, without options of shards") {
  CHECK(chosen("out.grid", {}).format == kGrid);
  CHECK(chosen("out.grid", {.format = kGrid}).format == kGrid);
  CHECK(chosen("out.grid", {.with_index = true}).with_index);
  CHECK(refusal("out.grid", {.format = "grid2"}) == "unknown format 'grid2'");
  CHECK(refusal("out.grid", {.shard_bytes = 1}) ==
        "--shard-size has no effect on an output that is one file");
  CHECK(refusal("out.grid", {.shard_samples = 1}) ==
        "--shard-samples has no effect on an output that is one file");
}

TEST_CASE("choose output: a name with a slash at its end is a directory, whatever its suffix") {
  CHECK(refusal("out.grid/", {}) == "no format was chosen");
  CHECK(chosen("out.grid/", {.format = kGrid}).format == kGrid);
}

TEST_CASE("choose output: shards take no index of their own") {
  CHECK(refusal("out", {.format = kGrid, .with_index = true}) ==
        "--with-index is for an output that is one file; shards always have one");
}

TEST_CASE("choose output: shards have a format, and bounds that were given or usual ones") {
  const ConvertRequest usual = chosen("out", {.format = kGrid});
  CHECK(usual.format == kGrid);
  CHECK(usual.shard_bytes == std::uint64_t{1} << 30);
  CHECK(usual.shard_samples == ~std::uint64_t{0});
  const ConvertRequest given =
      chosen("out", {.format = kGrid, .shard_bytes = 1000, .shard_samples = 7});
  CHECK(given.shard_bytes == 1000);
  CHECK(given.shard_samples == 7);
}

TEST_CASE("choose output: shards without a format, of an unknown one, or of no samples") {
  CHECK(refusal("out", {}) == "no format was chosen");
  CHECK(refusal("out", {.format = "tar"}) == "unknown format 'tar'");
  CHECK(refusal("out", {.format = kGrid, .shard_samples = 0}) ==
        "--shard-samples 0: a shard holds at least one sample");
}

TEST_CASE("choose output: a layout of a file per list is a directory, without options of shards") {
  const std::string layout = "grid-per-list";
  for (const OutputOptions& options : {OutputOptions{.shard_bytes = 1, .layout = layout},
                                       OutputOptions{.shard_samples = 1, .layout = layout},
                                       OutputOptions{.with_index = true, .layout = layout},
                                       OutputOptions{.layout = layout, .is_append = true},
                                       OutputOptions{.compression = "none", .layout = layout}})
    CHECK(refusal("out", options).find("does not go with --layout grid-per-list") !=
          std::string::npos);
  CHECK(refusal("out.grid", {.layout = layout}).find("its output is a directory") !=
        std::string::npos);
  const ConvertRequest request = chosen("out.d", {.layout = layout});
  CHECK(request.format == kGrid);
  CHECK(request.layout == layout);
}

TEST_CASE("choose output: a layout wants the kind of output that it writes") {
  CHECK(chosen("out.grid", {.layout = "other-grid"}).layout == "other-grid");
  CHECK(refusal("out", {.format = kGrid, .layout = "other-grid"}) ==
        "--layout other-grid: it is a layout of one grid file");
  CHECK(chosen("out", {.layout = "grid-per-class"}).format == kGrid);
  CHECK(refusal("out.grid", {.layout = "grid-per-class"}) ==
        "--layout grid-per-class: it is a directory with an grid directory per class");
  CHECK(refusal("out", {.layout = "nobody"}) == "unknown layout 'nobody'");
}

TEST_CASE("choose output: a layout that is the format's own changes nothing") {
  CHECK(chosen("out.grid", {.layout = "plain-grid"}).layout.empty());
  CHECK(chosen("out", {.format = kGrid, .layout = "plain-grid"}).layout.empty());
}
