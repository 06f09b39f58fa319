#pragma once

#include <cstdint>
#include <string_view>

namespace shale {

/// A part of a dataset: its blocks of 1 MiB, in the order of the shards and of
/// their files, are cut into `count` parts of equal size. Every part is a run of blocks; all of
/// them together are the dataset.
struct BlockPart {
  std::uint64_t number = 0;  ///< modulo the count, so that a number that grows goes round
  std::uint64_t count = 0;   ///< 0: as many as it takes for `bytes` to hold any of them
  std::uint64_t bytes = 0;
  bool is_of_day = false;  ///< the number is that of the day
};

/// "N/T": part N of T. "5%" and "10GiB": parts of that size at most, of which the number of the day
/// chooses one. Errors: Code::usage.
[[nodiscard]] BlockPart parse_block_part(std::string_view text, std::uint64_t day);

/// Days since 1970, UTC.
[[nodiscard]] std::uint64_t number_of_day();

/// Blocks [first, last): which part they are, of how many.
struct BlocksOfPart {
  std::uint64_t first = 0, last = 0;
  std::uint64_t number = 0, count = 1;
};
/// `blocks`: how many there are.
[[nodiscard]] BlocksOfPart blocks_of_part(const BlockPart& part, std::uint64_t blocks);

}  // namespace shale
