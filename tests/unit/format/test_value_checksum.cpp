#include <string>

#include <doctest/doctest.h>

#include "shale/format/value_checksum.hpp"

namespace shale {
namespace {

const std::string kText = "the quick brown fox jumps over the lazy dog";

std::uint32_t checksum(const FieldPlace& place, std::uint64_t window, const WalkProgress& progress,
                       std::uint64_t* longest = nullptr) {
  WalkPace pace(progress, kText.size());
  return crc32c_of_place(place, window, pace, [&](std::uint64_t offset, std::uint64_t length) {
    if (longest != nullptr) *longest = std::max(*longest, length);
    return as_bytes(std::string_view(kText).substr(offset, length));
  });
}

TEST_CASE("value checksum: windows of any size give the crc32c of the whole value") {
  for (const std::uint64_t window : {1U, 7U, 39U, 40U, 1000U}) {
    CAPTURE(window);
    std::uint64_t longest = 0;
    CHECK(checksum({.offset = 4, .length = 39}, window, {}, &longest) ==
          crc32c(as_bytes(std::string_view(kText).substr(4, 39))));
    CHECK(longest <= window);
  }
  CHECK(checksum({.offset = 4, .length = 0}, 8, {}) == crc32c({}));
}

TEST_CASE("value checksum: a long value can be stopped, a short one takes no step") {
  const WalkProgress stop = [](auto, auto) { throw 1; };

  CHECK_THROWS_AS((void)checksum({.offset = 0, .length = 40}, 4, stop), int);
  CHECK_NOTHROW((void)checksum({.offset = 0, .length = 40}, 40, stop));
}

}  // namespace
}  // namespace shale
