#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "shale/base/error.hpp"
#include "shale/format/format.hpp"
#include "shale/shards/index_file.hpp"

namespace shale {

/// The most that a shard may hold.
struct ShardLimits {
  std::uint64_t bytes;    ///< of any of its files, index and block list among them
  std::uint64_t samples;  ///< of it
};

/// The limits of a file of any size: more than any file system holds, and less than what a
/// ShardSizer says where nothing fits.
inline constexpr std::uint64_t kAnySize = (std::uint64_t{1} << 62) - 1;

/// The bytes of the largest file of a shard of so many samples, with data files of these sizes:
/// index, block list and the list of so many elements of lists among them.
[[nodiscard]] std::uint64_t largest_file_of(std::span<const std::uint64_t> data_files,
                                            std::uint64_t samples, std::uint64_t elements,
                                            const IndexColumns& columns);

/// The bytes of all files of that shard.
[[nodiscard]] std::uint64_t all_files_of(std::span<const std::uint64_t> data_files,
                                         std::uint64_t samples, std::uint64_t elements,
                                         const IndexColumns& columns);

/// The error for a sample that makes a shard too large even alone.
[[nodiscard]] Error sample_too_large(std::uint64_t shard_bytes, std::uint64_t limit_bytes);

/// The most rows whose files are within the limits; zero: not even one. nullopt where that cannot
/// be known: shards of such samples do not take runs of rows.
[[nodiscard]] std::optional<std::uint64_t> rows_within(const ShardLimits& limits,
                                                       const Format& format, const Schema& schema,
                                                       const OptionSet& options);

}  // namespace shale
