#include <cstdint>
#include <optional>
#include <string>

#include <doctest/doctest.h>

#include "shale/base/bytes.hpp"
#include "shale/encoding/written_images.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

Hash128 hash_of_number(std::uint64_t number) { return {.high = ~number, .low = number * 7}; }

std::string key_of_number(std::uint64_t number) {
  return std::string(number % 90, 'k') + std::to_string(number);
}

TEST_CASE("written images: any row is found again, those between two that are asked for or not") {
  TempDir dir;
  constexpr std::uint64_t kFirst = 1000, kRows = 20'000;  // more than the buffers hold
  for (const std::uint64_t step : {1U, 7U, 4999U}) {
    CAPTURE(step);
    WrittenImages written(dir.path(), 0, kFirst);
    for (std::uint64_t row = kFirst; row < kFirst + kRows; ++row) {
      std::optional<Hash128> hash = hash_of_number(row);
      if (row % 10 == 3) hash.reset();
      written.add(hash, key_of_number(row));
    }
    CHECK(files_in(dir.path()).empty());
    for (std::uint64_t row = kFirst; row < kFirst + kRows; row += step) {
      const std::optional<WrittenImages::Image> image = written.image_of(row);
      REQUIRE(image.has_value() == (row % 10 != 3));
      if (!image) continue;
      REQUIRE(image->hash == hash_of_number(row));
      REQUIRE(image->key == key_of_number(row));
    }
  }
}

TEST_CASE("written images: nothing is known of rows before the first one and behind the last") {
  TempDir dir;
  WrittenImages written(dir.path(), 2, 5);
  CHECK_FALSE(written.image_of(5).has_value());
  written.add(hash_of_number(5), "five");
  CHECK_FALSE(written.image_of(4).has_value());
  CHECK(written.image_of(5).value().key == "five");
  CHECK_FALSE(written.image_of(5).has_value());  // they ascend
  CHECK_FALSE(written.image_of(6).has_value());
  CHECK(written.field() == 2);
}

TEST_CASE("written images: of a very long key there is the hash alone") {
  TempDir dir;
  WrittenImages written(dir.path(), 0, 0);
  written.add(hash_of_number(0), std::string(WrittenImages::kLongestKey, 'k'));
  written.add(hash_of_number(1), std::string(WrittenImages::kLongestKey + 1, 'k'));
  CHECK(written.image_of(0).value().key.size() == WrittenImages::kLongestKey);
  const std::optional<WrittenImages::Image> image = written.image_of(1);
  REQUIRE(image.has_value());
  CHECK(image->hash == hash_of_number(1));
  CHECK(image->key.empty());
}

TEST_CASE("written images: where no notes can be kept, nothing is known and nothing fails") {
  TempDir dir;
  WrittenImages written(dir / "none", 0, 0);
  written.add(hash_of_number(0), "key");
  written.add(hash_of_number(1), "key");
  CHECK_FALSE(written.image_of(0).has_value());
  CHECK_FALSE(written.image_of(1).has_value());
}

}  // namespace
}  // namespace shale
