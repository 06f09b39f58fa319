#pragma once

#include <cstdint>
#include <functional>

#include "shale/flow/random_words.hpp"

namespace shale {

/// How many of `trials` succeed, each with probability a / b: binomial, exactly, if the words are
/// random. 0 <= a <= b < 2^63, and b is not 0. In integers alone; docs/sampling.md has the method
/// and test vectors. Takes about trials / 32 words (trials / 64 for a half), one at least for each
/// bit of a / b that is looked at; none if a is 0 or b.
/// `stop_if_asked`, if there is one, is called every few milliseconds of a large number of trials,
/// and may throw.
/// Source: bit by bit, as Devroye 1986 (Non-Uniform Random Variate Generation, chapter XV) compares
/// a random number with a / b, for all trials at once.
[[nodiscard]] std::uint64_t binomial(RandomWords words, std::uint64_t trials, std::uint64_t a,
                                     std::uint64_t b,
                                     const std::function<void()>* stop_if_asked = nullptr);

}  // namespace shale
