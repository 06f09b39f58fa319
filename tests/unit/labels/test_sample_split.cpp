#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/labels/sample_split.hpp"

namespace shale {
namespace {

using Counts = std::vector<std::uint64_t>;

bool means(std::string_view line, std::string_view key) {
  const std::vector<std::string> keys = keys_in_line(line);
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

TEST_CASE("sample split: a line of any known list means Class/video") {
  for (const std::string_view line : {"Class/video", "Class/video.avi 1", "Class/video.AVI",
                                      "/data/UCF101/frame/Class/video/,120", "  ./Class/video//\t",
                                      "Class/video.mp4,7", "\"/data/Class/video/\",120"}) {
    CAPTURE(line);
    CHECK(means(line, "Class/video"));
  }
  CHECK(means("air drumming/v 1", "air drumming/v 1"));
  CHECK(means("\"a, b/say \"\"x\"\"/\",3", "a, b/say \"x\""));
  CHECK(means("a/b.c 2", "a/b.c"));
}

TEST_CASE("sample split: the line itself is the likeliest key") {
  CHECK(keys_in_line("Class/video.avi").front() == "Class/video.avi");
  CHECK(keys_in_line("Class/video 1").front() == "Class/video 1");
}

TEST_CASE("sample split: lines without two names mean no video") {
  for (const std::string_view line : {"", " ", "/", "//", "12", ",", "\"", "\"\"", " 1"}) {
    CAPTURE(line);
    CHECK(!means(line, ""));
    CHECK(!means(line, "/"));
  }
}

TEST_CASE("sample split: shares are rounded to all samples, at least one each") {
  const std::vector<SplitPart> parts{{.name = "train", .share = 0.7},
                                     {.name = "test", .share = 0.3}};
  CHECK(shares_of(10, parts) == Counts{7, 3});
  CHECK(shares_of(100, parts) == Counts{70, 30});
  CHECK(shares_of(1, parts) == Counts{1, 0});
  CHECK(shares_of(2, parts) == Counts{1, 1});
  CHECK(shares_of(3, parts) == Counts{2, 1});
  CHECK(shares_of(0, parts) == Counts{0, 0});
  const std::vector<SplitPart> uneven{{.name = "test", .share = 0.01},
                                      {.name = "train", .share = 0.99}};
  CHECK(shares_of(1, uneven) == Counts{0, 1});
  CHECK(shares_of(5, uneven) == Counts{1, 4});
  const std::vector<SplitPart> thirds{{.name = "train", .share = 0.1},
                                      {.name = "val", .share = 0.2},
                                      {.name = "test", .share = 0.7}};
  for (std::uint64_t count = 0; count < 2000; ++count) {
    const Counts counts = shares_of(count, thirds);
    CHECK(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}) == count);
    if (count > 2) CHECK(*std::min_element(counts.begin(), counts.end()) > 0);
  }
}

}  // namespace
}  // namespace shale
