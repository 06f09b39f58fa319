#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// A .pt file of another tool as a shard of fixed rows: each tensor is a field. Reads the directory
/// and the pickle only. Errors: same as read_zip_directory, read_pt_archive and survey_of_tensors;
/// Code::usage for a dialect of LMDB.
[[nodiscard]] Survey survey_pt(const InputFile& file, std::optional<Dialect> dialect,
                               const WalkProgress& progress = {});

/// Proves that each file of a shard has the very bytes around its rows that the writer gives so
/// many, but the checksum of the rows, which need only be the same at both places; of a file of
/// another tool, that survey_pt() still says what it said. Gives no rows, and reads none.
void scan_pt_shard(const ShardInput& input, const OptionSet& options, const RowSink& rows,
                   const FindingSink& findings);

}  // namespace shale
