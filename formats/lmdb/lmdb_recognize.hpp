#pragma once

#include <optional>

#include "shale/data/schema.hpp"
#include "shale/format/walk_progress.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// The schema of a file that shale wrote, by its first value; nullopt for any other file. Those of
/// shale have two meta pages that describe one tree (liblmdb never leaves such), keys 00000000 and
/// on, and maps of a key and the same fields; whatever liblmdb wrote to since is a file like any
/// other. All else is left to a scan of Dialect::own. Reads a few pages. Errors: Code::damaged if
/// the file is shale's, but its first value cannot be read; Code::io.
[[nodiscard]] std::optional<Schema> recognize_own_lmdb(const InputFile& file,
                                                       const WalkProgress& progress = {});

}  // namespace shale
