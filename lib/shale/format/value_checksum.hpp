#pragma once

#include <algorithm>
#include <cstdint>

#include "shale/base/checksum.hpp"
#include "shale/data/shard_index.hpp"
#include "shale/format/walk_progress.hpp"

namespace shale {

/// The crc32c of a value of any size, read a window at a time by `view(offset, length)`; the pace
/// steps between windows. Errors: what both throw.
template <class View>
[[nodiscard]] std::uint32_t crc32c_of_place(const FieldPlace& place, std::uint64_t window_bytes,
                                            WalkPace& pace, const View& view) {
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < place.length;) {
    const std::uint64_t run = std::min(window_bytes, place.length - done);
    if (done > 0) pace.step();
    crc = crc32c(view(place.offset + done, run), crc);
    done += run;
  }
  return crc;
}

}  // namespace shale
