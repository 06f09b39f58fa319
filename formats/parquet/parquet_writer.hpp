#pragma once

#include <memory>
#include <span>

#include "shale/format/format.hpp"

namespace shale {

/// The key, then a part for each field: its bytes as they are stored, of a list each element with
/// its length in front. Errors: naming the sample, Code::limit for a long key or list, Code::schema
/// for a number that its dtype does not hold.
[[nodiscard]] Record encode_parquet(const Sample& sample, const Schema& schema,
                                    const OptionSet& options);

/// Exact: the sizes that the writer's files have.
[[nodiscard]] std::unique_ptr<ShardSizer> create_parquet_sizer(const Schema& schema,
                                                               const OptionSet& options);

/// Streams the pages of one column into the file, and keeps those of the others in a scratch file
/// beside it until their row group is whole. Memory: a page of 1 MiB for each column, ColumnSpill,
/// and the rows of a row group, which have no places before (at most 65,536).
[[nodiscard]] std::unique_ptr<ShardWriter> create_parquet_shard(std::span<OutputFile> files,
                                                                const Schema& schema,
                                                                const OptionSet& options);

/// The elements of a list: a u32 length and the bytes of each.
[[nodiscard]] std::vector<FieldPlace> walk_parquet_list(const ViewBytes& view,
                                                        const FieldPlace& list);
[[nodiscard]] std::vector<Bytes> split_parquet_list(Bytes extent, std::uint32_t count);

}  // namespace shale
