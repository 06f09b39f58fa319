#include <string>

#include <doctest/doctest.h>

#include "shale/data/left_out.hpp"

namespace shale {
namespace {

TEST_CASE("left out: what is there already is added to it, and an unknown count stays unknown") {
  LeftOutList list;
  list.add({"pages", "image", "first_only", 2});
  list.add({"feature", "boxes", "varying_length"});

  LeftOutList other;
  other.add({"pages", "image", "first_only", 3});
  other.add({"feature", "boxes", "varying_length", 7});
  list.add(other);

  REQUIRE(list.entries.size() == 2);
  CHECK(list.entries[0].samples == 5);
  CHECK(list.entries[1].samples == std::nullopt);
}

TEST_CASE("left out: names beyond the limit are counted") {
  LeftOutList list;
  for (std::size_t i = 0; i < LeftOutList::kMost + 2; ++i)
    list.add({"group", std::to_string(i), "not_at_the_root"});

  CHECK(list.entries.size() == LeftOutList::kMost);
  CHECK(list.more == 2);
  CHECK(list.count() == LeftOutList::kMost + 2);
}

}  // namespace
}  // namespace shale
