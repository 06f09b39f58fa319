#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/bytes.hpp"
#include "shale/format/column_spill.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("column spill: columns that grow side by side come back whole") {
  for (const std::size_t count : {1U, 3U, 2000U}) {
    CAPTURE(count);
    const TempDir dir;
    ColumnSpill spill(dir.path(), count);
    std::vector<std::string> expected(count);
    std::mt19937_64 random(count);
    for (int i = 0; i < 6000; ++i) {
      const std::size_t column = random() % std::min<std::size_t>(count, 5);
      const std::string bytes(random() % (i % 1000 == 0 ? 300'000 : 100),
                              static_cast<char>(random()));
      spill.append(column, as_bytes(bytes));
      expected[column] += bytes;
    }
    for (std::size_t column = 0; column < count; ++column) {
      std::string found;
      spill.read(column, [&](Bytes piece) { found += as_text(piece); });
      CHECK((found == expected[column]));
    }
  }
}

}  // namespace
}  // namespace shale
