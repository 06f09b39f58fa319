#include <array>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "shale/pixels/filter_rows.hpp"

namespace shale::test {

TEST_CASE("filter rows: every SIMD level computes the same values") {
  std::mt19937 random(7);
  for (const std::uint32_t width : {1U, 15U, 33U, 500U}) {
    for (const std::uint32_t outputs : {1U, 3U, 12U, 333U}) {
      CAPTURE(width);
      CAPTURE(outputs);
      const FilterWindows windows = make_filter_windows(
          {.source_samples = width, .ratio_num = width, .ratio_den = outputs, .outputs = outputs});
      std::vector<std::vector<std::uint8_t>> rows(7);
      std::vector<const std::uint8_t*> places;
      for (auto& row : rows) {
        row.resize(width + kRowSlack);
        for (std::uint8_t& level : row) level = (random() & 1U) != 0 ? 255 : std::uint8_t(random());
        places.push_back(row.data());
      }
      const std::array<std::int16_t, 7> weights = {-900, 1200, -2500, 16384, 4000, -2000, 200};
      std::vector<std::vector<std::uint8_t>> results;
      for (const SimdLevel level : {SimdLevel::scalar, SimdLevel::sse41, SimdLevel::avx2}) {
        if (level > best_simd_level()) continue;
        std::vector<std::int16_t> columns(width + windows.weights_each + kRowSlack);
        filter_rows(level).down(places.data(), weights.data(), 7, width, columns.data());
        std::vector<std::uint8_t> result(outputs);
        filter_rows(level).across(columns.data(), windows, result.data());
        results.push_back(std::move(result));
      }
      for (const auto& result : results) CHECK(result == results[0]);
    }
  }
}

}  // namespace shale::test
