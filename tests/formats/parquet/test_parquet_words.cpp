#include <cstring>
#include <limits>

#include <doctest/doctest.h>

#include "formats/parquet/parquet_words.hpp"

namespace shale {
namespace {

std::string words(ParquetMeaning meaning, ParquetUnit unit, std::int64_t count) {
  ParquetElement column{.name = "c", .type = ParquetType::int64};
  column.annotation.meaning = meaning;
  column.annotation.unit = unit;
  return words_of(column, as_bytes({reinterpret_cast<const char*>(&count), sizeof(count)}));
}

TEST_CASE("parquet words: the first moments of 64 bits are words, not an overflow") {
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  CHECK(words(ParquetMeaning::timestamp, ParquetUnit::nanoseconds, kFirst) ==
        "1677-09-21T00:12:43.145224192");
  CHECK(words(ParquetMeaning::timestamp, ParquetUnit::nanoseconds, -1) ==
        "1969-12-31T23:59:59.999999999");
  CHECK(words(ParquetMeaning::timestamp, ParquetUnit::milliseconds, kFirst).ends_with(".192"));
  CHECK(words(ParquetMeaning::time, ParquetUnit::microseconds, 46'800'250'000) == "13:00:00.25");
}

TEST_CASE("parquet words: a date has 32 bits, and is no date where its column has 64") {
  ParquetElement column{.name = "c", .type = ParquetType::int32};
  column.annotation.meaning = ParquetMeaning::date;
  CHECK(has_words(column));
  column.type = ParquetType::int64;
  CHECK(!has_words(column));
}

}  // namespace
}  // namespace shale
