#pragma once

#include <memory>
#include <span>

#include "shale/format/format.hpp"
#include "shale/wire/pt_archive.hpp"

namespace shale {

/// The archive that a field with so many rows is: a tensor without a name.
[[nodiscard]] PtArchive pt_archive_of(const Field& field, std::uint64_t rows);

/// Exact: the sizes that the writer's files have.
[[nodiscard]] std::unique_ptr<ShardSizer> create_pt_sizer(const Schema& schema,
                                                          const OptionSet& options);

/// Writes one archive per field: its front, then the rows as they come, then its directory.
[[nodiscard]] std::unique_ptr<ShardWriter> create_pt_shard(std::span<OutputFile> files,
                                                           const Schema& schema,
                                                           const OptionSet& options);

}  // namespace shale
