#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace shale::test {

/// How far counts are from what was expected, in standard deviations of a normal number: their
/// chi-square with `freedom` degrees of freedom, made normal as Wilson and Hilferty (1931) do. Fair
/// counts stay within 4.5 but once in 10^5; below -4.5 they are too even to be random.
inline double chi_square_deviation(std::span<const double> counts, std::span<const double> expected,
                                   double freedom) {
  double chi_square = 0;
  for (std::size_t i = 0; i < counts.size(); ++i)
    chi_square += (counts[i] - expected[i]) * (counts[i] - expected[i]) / expected[i];
  const double spread = 2 / (9 * freedom);
  return (std::cbrt(chi_square / freedom) - (1 - spread)) / std::sqrt(spread);
}

}  // namespace shale::test
