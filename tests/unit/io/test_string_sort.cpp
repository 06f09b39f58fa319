#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/bytes.hpp"
#include "shale/io/string_sort.hpp"

using namespace shale;

namespace {

std::vector<std::string> sorted(const std::vector<std::string>& strings) {
  std::string arena;
  std::vector<StringPlace> places;
  for (const std::string& text : strings) {
    places.push_back({0, arena.size(), text.size()});
    arena += text;
  }
  sort_strings(places, as_bytes(arena).data());
  std::vector<std::string> result;
  for (const StringPlace& place : places)
    result.push_back(arena.substr(place.offset, place.length));
  return result;
}

std::vector<std::string> sorted_by_std(std::vector<std::string> strings) {
  std::sort(strings.begin(), strings.end());
  return strings;
}

}  // namespace

TEST_CASE("string sort: a string comes before itself with a NUL behind it, at every length") {
  std::vector<std::string> strings;
  for (std::size_t length = 40; length-- > 0;) strings.push_back(std::string(length, '\0'));
  for (std::size_t length = 40; length-- > 0;) strings.push_back("abc" + std::string(length, '\0'));
  CHECK((sorted(strings) == sorted_by_std(strings)));
}

TEST_CASE("string sort: agrees with std::sort on strings that are hard to tell apart") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> strings(random() % 500);
    for (std::string& text : strings) {
      text = std::string(random() % 4 * 8, 'p');
      for (std::size_t byte = random() % 20; byte > 0; --byte)
        text += "\0a\x7f\x80\xff"[random() % 5];
    }
    REQUIRE((sorted(strings) == sorted_by_std(strings)));
  }
}

TEST_CASE(
    "string sort: long strings that differ in length only neither exhaust the stack nor come out "
    "wrong") {
  std::vector<std::string> strings;
  for (std::size_t length = 1000; length > 0; --length)
    strings.push_back(std::string(length * 8, 'a'));
  CHECK((sorted(strings) == sorted_by_std(strings)));
  const std::vector<std::string> equal(200, std::string(100'000, 'a'));
  CHECK((sorted(equal) == equal));
}
