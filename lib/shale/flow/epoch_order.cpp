#include "shale/flow/epoch_order.hpp"

#include <algorithm>
#include <numeric>

namespace shale {
namespace {

// Of a round: what lanes move within.
constexpr std::uint64_t kParts = 8;

__extension__ typedef unsigned __int128 Wide;

// The length of the lanes. Coprime to the size of a block, so that lanes begin at all places of
// one: else many of them would open their next block in the same round.
std::uint64_t rounds_for(std::uint64_t n, std::uint64_t block, std::uint64_t lanes) {
  std::uint64_t rounds = (n - 1) / lanes + 1;
  while (std::gcd(rounds, block) != 1) ++rounds;
  return rounds;
}

}  // namespace

BlockOrder::BlockOrder(std::uint64_t n, std::uint64_t block, std::uint64_t lanes, std::uint64_t key)
    : n_(n),
      block_(std::min(block, n)),
      rounds_(rounds_for(n, block_, lanes)),
      whole_lanes_(n / rounds_),
      blocks_((n - 1) / block_ + 1, key),
      lanes_(std::max<std::uint64_t>(1, whole_lanes_),
             mix(key ^ 0x626c6f636b6c616e)),  // "blocklan"
      short_size_(n - (blocks_.size() - 1) * block_),
      short_place_(blocks_.inverse(blocks_.size() - 1)),
      round_keys_(mix(key ^ 0x626c6b726f756e64)),  // the letters "blkround"
      run_keys_(mix(key ^ 0x626c6f636b72756e)) {}  // the letters "blockrun"

// n / rounds_ samples each on average, so at most one more than whole lanes: that of the last lane.
std::uint64_t BlockOrder::begin_of_round(std::uint64_t round) const {
  return static_cast<std::uint64_t>(Wide{round} * n_ / rounds_);
}

void BlockOrder::draw(std::uint64_t begin, std::span<DrawnSample> into) const {
  const std::uint64_t end = begin + into.size();
  for (std::uint64_t position = begin; position < end;) {
    // The last round that begins at this position or before it.
    const auto round = static_cast<std::uint64_t>((Wide{position} * rounds_ + rounds_ - 1) / n_);
    const std::uint64_t round_begin = begin_of_round(round), round_end = begin_of_round(round + 1);
    for (; position < std::min(end, round_end); ++position) {
      const std::uint64_t lane = lane_at(round, position - round_begin);
      const std::uint64_t place = lane < whole_lanes_ ? round : round_begin - round * whole_lanes_;
      into[position - begin] = sample_at(lane, place);
    }
  }
}

// The last lane, where a round has one more, is at its end.
std::uint64_t BlockOrder::lane_at(std::uint64_t round, std::uint64_t slot) const {
  if (slot == whole_lanes_) return slot;
  const std::uint64_t part = (whole_lanes_ - 1) / kParts + 1;
  const std::uint64_t begin = slot / part * part;
  const std::uint64_t count = std::min(part, whole_lanes_ - begin);
  const std::uint64_t key = round_keys_.at(round * kParts + slot / part);
  return lanes_.at(begin + (count == 1 ? 0 : Permutation(count, key).at(slot - begin)));
}

DrawnSample BlockOrder::sample_at(std::uint64_t lane, std::uint64_t place) const {
  const std::uint64_t lane_begin = lane * rounds_;
  const std::uint64_t lane_end = lane < whole_lanes_ ? lane_begin + rounds_ : n_;
  const std::uint64_t in_line = lane_begin + place;
  const std::uint64_t lacks = block_ - short_size_;  // what the short block lacks of a whole one
  const bool is_behind = in_line >= short_place_ * block_ + short_size_;
  const std::uint64_t block = (is_behind ? in_line + lacks : in_line) / block_;
  const std::uint64_t block_begin = block * block_ - (is_behind ? lacks : 0);
  const std::uint64_t block_end = block_begin + (block == short_place_ ? short_size_ : block_);
  // A block that lies across the border of two lanes is two runs.
  const std::uint64_t run_begin = std::max(block_begin, lane_begin);
  const std::uint64_t count = std::min(block_end, lane_end) - run_begin;
  const std::uint64_t first = blocks_.at(block) * block_ + (run_begin - block_begin);
  const std::uint64_t in_run =
      count == 1 ? 0 : Permutation(count, run_keys_.at(run_begin)).at(in_line - run_begin);
  return {.row = first + in_run, .lane = lane, .first = first, .count = count};
}

}  // namespace shale
