#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// A .npy file of another tool (version 1, 2 or 3) as a shard of fixed rows: its first axis are the
/// samples, each of one field, "x". Reads the header only.
/// Errors: Code::unsupported, by name, for an array in Fortran order, with big-endian numbers,
/// without an axis, or with 2^24 rows of zero bytes; Code::damaged for an invalid header, and for
/// a file that is shorter or longer than its array; Code::usage for msgpack.
[[nodiscard]] Survey survey_npy(const InputFile& file, std::optional<Dialect> dialect,
                                const WalkProgress& progress = {});

/// Proves that a file is still what survey_npy() said: field, number of rows, where they begin, and
/// its length.
void scan_foreign_npy(const ShardInput& input, const FindingSink& findings);

}  // namespace shale
