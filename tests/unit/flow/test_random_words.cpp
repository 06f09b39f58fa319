#include <set>

#include <doctest/doctest.h>

#include "shale/flow/random_words.hpp"

namespace shale {
namespace {

TEST_CASE("random words: those of the key 1234567 are the published ones of SplitMix64") {
  RandomWords words(1234567);
  CHECK(words.next() == 6457827717110365317U);
  CHECK(words.next() == 3203168211198807973U);
  CHECK(words.next() == 9817491932198370423U);
  CHECK(words.next() == 4593380528125082431U);
  CHECK(words.next() == 16408922859458223821U);
}

TEST_CASE("random words: word i of those that are left is the one that comes then") {
  const RandomWords ahead(7);
  RandomWords words(7);
  for (std::uint64_t i = 0; i < 100; ++i) CHECK(words.next() == ahead.at(i));
  CHECK(words.at(0) == ahead.at(100));
}

TEST_CASE("random words: neighbouring keys share no word early on") {
  std::set<std::uint64_t> seen;
  for (std::uint64_t key = 0; key < 100; ++key) {
    RandomWords words(key);
    for (int i = 0; i < 100; ++i) seen.insert(words.next());
  }
  CHECK(seen.size() == 10'000);
}

}  // namespace
}  // namespace shale
