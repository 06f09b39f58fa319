#pragma once

#include <optional>

#include "shale/format/format.hpp"

namespace shale {

/// Proves that a file is what shale writes, to the byte, but for the size of its row groups, which
/// is whatever the footer says. Stops at the first thing that is not, unless it is the checksum of
/// a page. Memory: a window of at most 2 MiB per column, 32 MiB in all, and the end of the file.
void scan_own_parquet(const ShardInput& input, const RowSink& rows, const FindingSink& findings);

/// The schema of a file that shale wrote.
[[nodiscard]] std::optional<Schema> recognize_own_parquet(const InputFile& file,
                                                          const WalkProgress& progress);

extern const ClassPlace parquet_class_place;

/// Format::readme_fields.
[[nodiscard]] std::string parquet_readme_fields(const InputFile& shard, const Schema& schema,
                                                const LabelNames& names);

}  // namespace shale
