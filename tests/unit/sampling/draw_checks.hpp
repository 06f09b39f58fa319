#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "shale/sampling/draw.hpp"

namespace shale::test {

/// The rows of all slots, `at_once` asked for at a time.
inline std::vector<std::uint64_t> all_rows(const Draw& draw, std::uint64_t at_once = 1 << 20) {
  std::vector<std::uint64_t> rows(draw.rows(), ~std::uint64_t{0});
  for (std::uint64_t first = 0; first < rows.size(); first += at_once)
    draw.rows_of(first, std::span(rows).subspan(first, std::min(at_once, rows.size() - first)));
  return rows;
}

/// The places of all steps, `at_once` asked for at a time.
inline std::vector<DrawnPlace> all_places(const Draw& draw, std::uint64_t at_once = 1 << 20) {
  std::vector<DrawnPlace> places;
  draw.prepare_sweep({});
  for (std::uint64_t first = 0; first < draw.sweep_steps(); first += at_once) {
    const auto more = draw.sweep(first, std::min(first + at_once, draw.sweep_steps()));
    places.insert(places.end(), more.begin(), more.end());
  }
  return places;
}

/// Both sides say the same, in parts of any size: each slot once, rows of the source, ascending.
inline void check_both_sides(const Draw& draw) {
  const std::vector<std::uint64_t> rows = all_rows(draw);
  CHECK(std::all_of(rows.begin(), rows.end(),
                    [&](std::uint64_t row) { return row < draw.source_rows(); }));
  CHECK(all_rows(draw, 1) == rows);
  CHECK(all_rows(draw, 7) == rows);
  for (const std::uint64_t at_once :
       {std::uint64_t{1}, std::uint64_t{13}, std::uint64_t{1} << 20}) {
    CAPTURE(at_once);
    const std::vector<DrawnPlace> places = all_places(draw, at_once);
    REQUIRE(places.size() == rows.size());
    std::vector<std::uint64_t> by_slot(rows.size(), ~std::uint64_t{0});
    std::uint64_t least = 0;
    bool ascends = true;
    for (const DrawnPlace& place : places) {
      REQUIRE(place.slot < rows.size());
      by_slot[place.slot] = place.row;
      ascends = ascends && place.row >= least;
      least = place.row;
    }
    CHECK(ascends);
    CHECK(by_slot == rows);
  }
}

/// Pearson's statistic of rows against weights; none may be drawn of weight 0.
inline double chi_square(const std::vector<std::uint64_t>& rows,
                         const std::vector<double>& weights) {
  std::vector<double> counts(weights.size());
  for (const std::uint64_t row : rows) counts[row] += 1;
  double sum = 0, statistic = 0;
  for (const double weight : weights) sum += weight;
  for (std::size_t row = 0; row < weights.size(); ++row) {
    if (weights[row] == 0) {
      CHECK(counts[row] == 0);
      continue;
    }
    const double expected = static_cast<double>(rows.size()) * weights[row] / sum;
    statistic += (counts[row] - expected) * (counts[row] - expected) / expected;
  }
  return statistic;
}

}  // namespace shale::test
