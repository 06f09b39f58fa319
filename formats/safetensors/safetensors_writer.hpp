#pragma once

#include <memory>
#include <span>

#include "shale/format/format.hpp"

namespace shale {

/// The header of a file of one tensor, the field with so many rows; it has the same length for any
/// number of them.
[[nodiscard]] std::vector<std::byte> safetensors_column_header(const Field& field,
                                                               std::uint64_t rows);

/// Writes one file per field: header, then the rows as they come.
[[nodiscard]] std::unique_ptr<ShardWriter> create_safetensors_shard(std::span<OutputFile> files,
                                                                    const Schema& schema,
                                                                    const OptionSet& options);

}  // namespace shale
