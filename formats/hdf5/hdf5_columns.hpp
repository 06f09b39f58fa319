#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "shale/columns/own_columns.hpp"
#include "shale/columns/own_writer.hpp"
#include "shale/data/schema.hpp"
#include "shale/format/format.hpp"

namespace shale {

/// Every column has a buffer of its own while a shard is written.
inline constexpr std::size_t kMaxHdf5Fields = 4096;
/// The library holds 32 axes, and the sample's number is one of them.
inline constexpr std::size_t kMaxHdf5Axes = 31;

/// The columns of an HDF5 shard, and how many bytes are in front of them.
/// Errors: Code::unsupported, by field and reason, for a schema that HDF5 shards cannot hold.
[[nodiscard]] Hdf5Plan plan_columns(const Schema& schema);

/// The metadata of such a shard.
[[nodiscard]] ShardMetadata shard_metadata(const Hdf5Plan& plan, std::uint64_t samples,
                                           std::span<const std::uint64_t> part_bytes,
                                           const LabelNames& names);

/// The writer of a shard. Calls no library: the bytes do not depend on which one is installed.
/// Memory: see ColumnSpill.
[[nodiscard]] std::unique_ptr<ShardWriter> create_hdf5_shard(std::span<OutputFile> files,
                                                             const Schema& schema,
                                                             const OptionSet& options);
/// Exact: the sizes that the writer's files have.
[[nodiscard]] std::unique_ptr<ShardSizer> create_hdf5_sizer(const Schema& schema,
                                                            const OptionSet& options);

}  // namespace shale
