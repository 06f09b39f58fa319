#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "shale/format/format.hpp"
#include "shale/verify/verify_bytes.hpp"

namespace shale {

/// What the container's own library says of one shard.
struct LibraryVerdict {
  LibraryReading reading;
  std::uint64_t findings = 0;
  std::vector<Finding> first_findings;  ///< at most 200
};

/// Lets the library of a format (Format::scan_by_library) read a shard of shale's own, and compares
/// each value with the index: place, checksum, number. Forks: while no task is under way. `ask` may
/// throw, to stop. Memory: some 20 MiB in the child. Errors: Code::io; what `ask` throws.
[[nodiscard]] LibraryVerdict verify_by_library(const ShardCheck& shard, const Format& format,
                                               const std::function<void()>& ask);

}  // namespace shale
