#include <algorithm>
#include <array>

#include "formats/table.hpp"
#include "tests/support/toy_format.hpp"

// The registry of the contract suite: that of shale, and the toy.

namespace shale {

std::span<const Format* const> all_formats() {
  static const auto formats = [] {
    std::array<const Format*, std::size(kFormats) + 1> all{};
    *std::ranges::copy(kFormats, all.begin()).out = &test::toy_format;
    return all;
  }();
  return formats;
}

}  // namespace shale
