#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// A .safetensors file of another tool as a shard of fixed rows: each tensor is a field. Reads the
/// header only. Errors: same as read_safetensors and survey_of_tensors; Code::usage for a dialect
/// of LMDB.
[[nodiscard]] Survey survey_safetensors(const InputFile& file, std::optional<Dialect> dialect,
                                        const WalkProgress& progress = {});

/// Proves that each file of a shard has the very header that the writer gives so many rows, and
/// their rows behind it, no byte more or less; of a file of another tool, that survey_safetensors()
/// still says what it said. Gives no rows, and reads none.
void scan_safetensors_shard(const ShardInput& input, const OptionSet& options, const RowSink& rows,
                            const FindingSink& findings);

}  // namespace shale
