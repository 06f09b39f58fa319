#pragma once

#include <memory>
#include <span>

#include "shale/format/format.hpp"

namespace shale {

/// The header that NumPy itself writes for `rows` rows of a field; it has the same length for any
/// number of them.
[[nodiscard]] std::vector<std::byte> npy_column_header(const Field& field, std::uint64_t rows);

/// Exact: the sizes that the writer's files have.
[[nodiscard]] std::unique_ptr<ShardSizer> create_npy_sizer(const Schema& schema,
                                                           const OptionSet& options);

/// Writes one .npy file per field: header, then the rows as they come. Memory: none of its own.
[[nodiscard]] std::unique_ptr<ShardWriter> create_npy_shard(std::span<OutputFile> files,
                                                            const Schema& schema,
                                                            const OptionSet& options);

}  // namespace shale
