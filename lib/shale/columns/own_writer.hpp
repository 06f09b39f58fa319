#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "shale/columns/own_columns.hpp"
#include "shale/format/format.hpp"

namespace shale {

/// What a container has beside the columns: the first plan.head_bytes bytes of its file, and what
/// follows the last column, if it has class names.
struct ShardMetadata {
  std::vector<std::byte> head, tail;
};
using MakeMetadata = std::function<ShardMetadata(const Hdf5Plan& plan, std::uint64_t samples,
                                                 std::span<const std::uint64_t> part_bytes,
                                                 const LabelNames& names)>;

/// Exact: the sizes that the writer's files have.
[[nodiscard]] std::unique_ptr<ShardSizer> create_column_sizer(Hdf5Plan plan);

/// Streams what is likely the largest column (Hdf5Plan::streamed) into the file, keeps the others
/// in a scratch file beside it, and writes the metadata at the end into the space left at the
/// front. Memory: see ColumnSpill.
[[nodiscard]] std::unique_ptr<ShardWriter> create_column_writer(OutputFile& file, Hdf5Plan plan,
                                                                MakeMetadata make_metadata);

}  // namespace shale
