#include "shale/flow/permutation.hpp"

#include <algorithm>
#include <bit>

#include "shale/flow/random_words.hpp"

namespace shale {

Permutation::Permutation(std::uint64_t n, std::uint64_t seed) : n_(n), keys_{} {
  const auto bits = static_cast<unsigned>(n > 1 ? std::bit_width(n - 1) : 1);
  // On fewer than 8 bits the network reaches too few orders: they would visibly not be alike.
  half_bits_ = std::max(4U, (bits + 1) / 2);
  half_mask_ = (std::uint64_t{1} << half_bits_) - 1;
  // SplitMix64's own stream gives the round keys, begun at a mix of seed and n so that sizes do not
  // share orders.
  RandomWords words(mix(seed ^ mix(n)));
  for (std::uint64_t& key : keys_) key = words.next();
}

std::uint64_t Permutation::round(std::uint64_t half, unsigned index) const {
  return mix(half + keys_[index]) & half_mask_;
}

std::uint64_t Permutation::at(std::uint64_t i) const {
  std::uint64_t value = i;
  do {
    std::uint64_t left = value >> half_bits_, right = value & half_mask_;
    for (unsigned index = 0; index < kRounds; ++index) {
      const std::uint64_t next = left ^ round(right, index);
      left = right;
      right = next;
    }
    value = left << half_bits_ | right;
  } while (value >= n_);
  return value;
}

std::uint64_t Permutation::inverse(std::uint64_t j) const {
  std::uint64_t value = j;
  do {
    std::uint64_t left = value >> half_bits_, right = value & half_mask_;
    for (unsigned index = kRounds; index-- > 0;) {
      const std::uint64_t previous = right ^ round(left, index);
      right = left;
      left = previous;
    }
    value = left << half_bits_ | right;
  } while (value >= n_);
  return value;
}

}  // namespace shale
