#include <vector>

#include <doctest/doctest.h>

#include "shale/data/shape_text.hpp"

namespace shale {
namespace {

TEST_CASE("shape text: a shape reads as Python writes it") {
  const auto text = [](std::vector<std::uint64_t> shape) { return shape_text(shape); };
  CHECK(text({}) == "()");
  CHECK(text({3}) == "(3,)");
  CHECK(text({2, 0, 18446744073709551615U}) == "(2, 0, 18446744073709551615)");
}

}  // namespace
}  // namespace shale
