#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "shale/base/lzf.hpp"

namespace shale {
namespace {

using namespace std::string_view_literals;

TEST_CASE("lzf: copies what was written before, and stops at what is not its format") {
  std::array<std::byte, 64> into{};
  const auto unpacked = [&](std::string_view packed, std::size_t room) {
    const std::size_t bytes = unpack_lzf(as_bytes(packed), std::span(into).first(room));
    if (bytes > 0) CHECK(unpacked_lzf_bytes(as_bytes(packed)) == bytes);
    return std::string(as_text(Bytes(into).first(bytes)));
  };

  CHECK(unpacked("\x01"
                 "ab\x40\x01"sv,
                 64) == "ababab");
  CHECK(unpacked("\x00"
                 "x\xe0\x05\x00"sv,
                 64) == std::string(15, 'x'));
  // Cut short, from before the beginning, and longer than there is room for.
  for (const std::string_view packed : {"\x05"
                                        "ab"sv,
                                        "\x40"sv, "\xe0\x05"sv, "\x40\x01"sv,
                                        "\x01"
                                        "ab\x40\x02"sv})
    CHECK(unpacked(packed, 64).empty());
  CHECK(unpacked("\x00"
                 "x\xe0\x05\x00"sv,
                 14)
            .empty());
}

}  // namespace
}  // namespace shale
