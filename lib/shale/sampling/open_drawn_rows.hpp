#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shale/arrays/located_rows.hpp"
#include "shale/base/events.hpp"
#include "shale/io/free_space.hpp"
#include "shale/sampling/draw.hpp"

namespace shale {

/// How drawn rows are put in order.
enum class DrawStrategy {
  memory,   ///< the source is read once, into memory
  gather,   ///< rows are read in place
  buckets,  ///< one sweep over the source, and buckets in a scratch file
};

[[nodiscard]] constexpr std::string_view name_of(DrawStrategy strategy) {
  constexpr std::string_view kNames[] = {"memory", "gather", "buckets"};
  return kNames[static_cast<std::size_t>(strategy)];
}

struct DrawPlan {
  DrawStrategy strategy = DrawStrategy::gather;
  unsigned passes = 1;              ///< over the bytes, from the source to the output
  std::uint64_t read_bytes = 0;     ///< about so many, scratch included
  std::uint64_t written_bytes = 0;  ///< the same; the output is part of it
  std::uint64_t scratch_bytes = 0;  ///< at most, at any moment
  std::uint64_t output_bytes = 0;   ///< of rows; 0: not known here

  /// How many times the bytes of the output are written, the output included.
  [[nodiscard]] double write_amplification() const {
    return output_bytes == 0
               ? 1
               : static_cast<double>(written_bytes) / static_cast<double>(output_bytes);
  }
};

struct DrawLimits {
  unsigned jobs = 1;
  std::uint64_t memory_bytes = 0;  ///< at least kLeastDrawMemory
  std::string scratch_folder;
};

inline constexpr std::uint64_t kLeastDrawMemory = 2 << 20;

/// The cheapest strategy, by the bytes that move, and those that could move while the draw is
/// asked: one random read counts as much as kSeekBytes in a row. Errors: same as plan_buckets.
[[nodiscard]] DrawPlan plan_drawn_rows(std::uint64_t row_bytes, std::uint64_t source_rows,
                                       std::uint64_t rows, std::uint64_t memory_bytes,
                                       Draw::Costs costs = {});

/// What a disk reads in a row in the time of one random read among many: with it buckets win below
/// rows of 64 KiB, if all rows are wanted.
inline constexpr std::uint64_t kSeekBytes = 128 << 10;

/// What the strategy takes in the scratch folder, with what the draw itself needs for it.
[[nodiscard]] ScratchNeed scratch_of(const DrawPlan& plan, const Draw& draw);

/// The plan with what its source takes: one that has to be put into rows first is read and written
/// once more.
[[nodiscard]] DrawPlan with_source(DrawPlan plan, const ScratchNeed& source, const Draw& draw);

/// The drawn rows by the strategy that is planned. `rows`, `draw` and `events` must outlive the
/// result. Errors: Code::io if the scratch folder has too little space; same as open_gathered_rows
/// and open_bucketed_rows.
[[nodiscard]] std::unique_ptr<DrawnRows> open_drawn_rows(const LocatedRows& rows, const Draw& draw,
                                                         const DrawLimits& limits,
                                                         const Events& events);

}  // namespace shale
