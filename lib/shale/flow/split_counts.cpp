#include "shale/flow/split_counts.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace shale {
namespace {

constexpr std::uint64_t kWordsAtOnce = 1 << 22;

// As std::popcount, which without a flag for newer processors is a call into a table for g++: 2.0
// ns per word instead of 3.6 in the loop below (g++ 12 at -O3, 2 cores of a cloud machine,
// 2026-11).
std::uint64_t ones_of(std::uint64_t word) {
  word -= (word >> 1) & 0x5555555555555555U;
  word = (word & 0x3333333333333333U) + ((word >> 2) & 0x3333333333333333U);
  word = (word + (word >> 4)) & 0x0f0f0f0f0f0f0f0fU;
  return word * 0x0101010101010101U >> 56;
}

// Ones among `tosses` fair bits: whole words, then the low bits of one more.
std::uint64_t ones_among(RandomWords& words, std::uint64_t tosses,
                         const std::function<void()>* stop_if_asked) {
  std::uint64_t ones = 0;
  for (std::uint64_t whole = tosses / 64; whole > 0;) {
    const std::uint64_t count = std::min(whole, kWordsAtOnce);
    for (std::uint64_t left = count; left > 0; --left) ones += ones_of(words.next());
    whole -= count;
    if (stop_if_asked != nullptr) (*stop_if_asked)();
  }
  const std::uint64_t rest = tosses % 64;
  if (rest > 0) ones += ones_of(words.next() & ((std::uint64_t{1} << rest) - 1));
  return ones;
}

// Keeps the words of trees apart from the round keys of a Permutation of the same seed. The letters
// "rowsplit".
constexpr std::uint64_t kTreeSeed = 0x726f7773706c6974;
// A finer table would save less than the walk from a block of so many draws costs.
constexpr std::uint64_t kLeastBlockDraws = 64;
// Sums are fetched by windows of so many rows, 2^12.
constexpr unsigned kWindowHeight = 12;
// From so many sums on that are wanted of a window, reading them one by one costs more.
constexpr unsigned kSparseHeight = 3;

std::uint64_t blocks_of(std::uint64_t n, unsigned height) { return ((n - 1) >> height) + 1; }

}  // namespace

std::uint64_t binomial(RandomWords words, std::uint64_t trials, std::uint64_t a, std::uint64_t b,
                       const std::function<void()>* stop_if_asked) {
  if (a == b) return trials;
  // Each trial has a random binary fraction and succeeds if it is below a / b. They are compared
  // from the first bit on: at each, half of the trials, those that toss 0, differ from a / b, and
  // so are below it if its bit is 1. The others are undecided still. Once the bits of a / b that
  // are left are all 0, none can be below.
  std::uint64_t successes = 0, undecided = trials, remainder = a;
  while (remainder > 0 && undecided > 0) {
    remainder *= 2;
    const bool is_one = remainder >= b;
    if (is_one) remainder -= b;
    const std::uint64_t equal = ones_among(words, undecided, stop_if_asked);
    if (is_one) successes += undecided - equal;
    undecided = equal;
  }
  return successes;
}

// A range of rows, 2^height of them, that begins at a multiple of as many, and its draws.
struct SplitCounts::Node {
  std::uint64_t index;  // the root is 1, the halves of node i are 2 i and 2 i + 1
  unsigned height;
  std::uint64_t row, draws;
  std::uint64_t sum_begin, sum_end;  // of the weights below it, and below its end

  [[nodiscard]] std::uint64_t middle() const { return row + (std::uint64_t{1} << (height - 1)); }
  [[nodiscard]] Node other_half(const Node& left) const {
    return {left.index + 1, left.height, middle(), draws - left.draws, left.sum_end, sum_end};
  }
};

// The ranks that a walk looks for: it passes over `skip` of them, and fills what is left.
struct SplitCounts::Wanted {
  std::uint64_t skip;
  std::span<std::uint64_t> into;
};

// Every row weighs 1.
struct SplitCounts::EvenSums {
  std::uint64_t n;
  [[nodiscard]] std::uint64_t below(std::uint64_t row, unsigned) const { return std::min(row, n); }
};

// Sums one by one as long as the rows asked for lie far apart, then by windows.
class SplitCounts::WindowedSums {
 public:
  WindowedSums(const SplitCounts& counts, unsigned window_height)
      : n_(counts.n_), sums_(counts.sums_), window_height_(window_height) {}

  // `height` is that of the node that asks.
  [[nodiscard]] std::uint64_t below(std::uint64_t row, unsigned height) {
    row = std::min(row, n_);
    if (height > window_height_) {
      std::uint64_t sum = 0;
      sums_(row, {&sum, 1});
      return sum;
    }
    if (window_.empty() || row - begin_ >= window_.size()) fetch(row);
    return window_[row - begin_];
  }

 private:
  // The window has one sum more than rows, so that nodes in it find both their ends.
  void fetch(std::uint64_t row) {
    begin_ = row >> window_height_ << window_height_;
    window_.resize(std::min(std::uint64_t{1} << window_height_, n_ - begin_) + 1);
    sums_(begin_, window_);
  }

  std::uint64_t n_;
  const WeightSums& sums_;
  unsigned window_height_;
  std::uint64_t begin_ = 0;
  std::vector<std::uint64_t> window_;
};

SplitCounts::SplitCounts(std::uint64_t n, std::uint64_t draws, std::uint64_t seed,
                         std::uint64_t memory_bytes, WeightSums sums,
                         const StopIfAsked& stop_if_asked)
    : n_(n),
      draws_(draws),
      node_keys_(mix(mix(mix(seed ^ kTreeSeed) + n) + draws)),
      sums_(std::move(sums)),
      height_(n > 1 ? static_cast<unsigned>(std::bit_width(n - 1)) : 0),
      block_height_(0) {
  if (draws_ == 0) return;
  const std::uint64_t most_blocks = std::min(memory_bytes / sizeof(std::uint64_t) - 1,
                                             std::max(draws_ / kLeastBlockDraws, std::uint64_t{1}));
  while (blocks_of(n_, block_height_) > most_blocks) ++block_height_;
  table_.assign(blocks_of(n_, block_height_) + 1, 0);
  const StopIfAsked* stop = stop_if_asked ? &stop_if_asked : nullptr;
  Node root{1, height_, 0, draws_, 0, n_};
  if (sums_) {
    // A level of single sums costs less than windows of which hardly anything is used.
    WindowedSums windowed(*this, block_height_ + kSparseHeight < kWindowHeight ? kWindowHeight : 0);
    root.sum_end = windowed.below(n_, kWindowHeight + 1);
    count_blocks(root, windowed, stop);
  } else {
    EvenSums even{n_};
    count_blocks(root, even, stop);
  }
  std::exclusive_scan(table_.begin(), table_.end(), table_.begin(), std::uint64_t{0});
}

// The left half of a node of two rows or more, with its share of the draws.
template <class Sums>
SplitCounts::Node SplitCounts::left_of(const Node& node, Sums& sums,
                                       const StopIfAsked* stop_if_asked) const {
  const std::uint64_t sum_middle = sums.below(node.middle(), node.height);
  const std::uint64_t draws =
      binomial(RandomWords(node_keys_.at(node.index)), node.draws, sum_middle - node.sum_begin,
               node.sum_end - node.sum_begin, stop_if_asked);
  return {node.index * 2, node.height - 1, node.row, draws, node.sum_begin, sum_middle};
}

// The draws of each block below a node, into the table.
template <class Sums>
void SplitCounts::count_blocks(const Node& node, Sums& sums, const StopIfAsked* stop_if_asked) {
  if (node.draws == 0) return;
  if (stop_if_asked != nullptr) (*stop_if_asked)();
  if (node.height == block_height_) {
    table_[node.row >> block_height_] = node.draws;
    return;
  }
  const Node left = left_of(node, sums, stop_if_asked);
  count_blocks(left, sums, stop_if_asked);
  count_blocks(node.other_half(left), sums, stop_if_asked);
}

std::uint64_t SplitCounts::row_of(std::uint64_t rank) const {
  std::uint64_t row = 0;
  rows_of(rank, {&row, 1});
  return row;
}

void SplitCounts::rows_of(std::uint64_t first, std::span<std::uint64_t> into) const {
  if (into.empty()) return;
  if (sums_) {
    const bool is_few = into.size() < kLeastBlockDraws;
    WindowedSums windowed(*this, is_few ? std::min(block_height_, kWindowHeight) : kWindowHeight);
    walk_blocks(first, into, windowed);
  } else {
    EvenSums even{n_};
    walk_blocks(first, into, even);
  }
}

template <class Sums>
void SplitCounts::walk_blocks(std::uint64_t first, std::span<std::uint64_t> into,
                              Sums& sums) const {
  const auto after = std::upper_bound(table_.begin(), table_.end(), first);
  auto block = static_cast<std::uint64_t>(after - table_.begin()) - 1;
  Wanted wanted{first - table_[block], into};
  for (; !wanted.into.empty(); ++block) {
    const std::uint64_t draws = table_[block + 1] - table_[block];
    if (draws == 0) continue;
    const std::uint64_t row = block << block_height_;
    const std::uint64_t end = row + (std::uint64_t{1} << block_height_);
    Node node{
        (std::uint64_t{1} << (height_ - block_height_)) + block, block_height_, row, draws, 0, 0};
    if (block_height_ > 0) {  // a row has nothing to split
      node.sum_begin = sums.below(row, block_height_);
      node.sum_end = sums.below(end, block_height_);
    }
    walk(node, sums, wanted);
  }
}

// The row of the only draw of a node. No branch depends on it: half of them would be mispredicted.
template <class Sums>
std::uint64_t SplitCounts::row_of_one(Node node, Sums& sums) const {
  while (node.height > 0) {
    const Node left = left_of(node, sums);
    const std::uint64_t right = 1 - left.draws;
    node = {left.index + right,
            left.height,
            node.row + (right << left.height),
            1,
            right != 0 ? left.sum_end : node.sum_begin,
            right != 0 ? node.sum_end : left.sum_end};
  }
  return node.row;
}

template <class Sums>
void SplitCounts::walk(const Node& node, Sums& sums, Wanted& wanted) const {
  if (wanted.skip >= node.draws) {
    wanted.skip -= node.draws;
    return;
  }
  if (node.height == 0) {
    const auto found = static_cast<std::size_t>(
        std::min<std::uint64_t>(node.draws - wanted.skip, wanted.into.size()));
    std::fill_n(wanted.into.begin(), found, node.row);
    wanted = {0, wanted.into.subspan(found)};
    return;
  }
  if (node.draws == 1) {
    wanted.into.front() = row_of_one(node, sums);
    wanted.into = wanted.into.subspan(1);
    return;
  }
  const Node left = left_of(node, sums);
  walk(left, sums, wanted);
  if (!wanted.into.empty()) walk(node.other_half(left), sums, wanted);
}

}  // namespace shale
