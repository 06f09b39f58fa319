#pragma once

#include "shale/format/format.hpp"

namespace shale {

/// What a TFRecord file of another tool holds, from all of its records. If each is a
/// tf.train.Example with a feature at least, features become fields, sorted by name (FORMAT.md,
/// "files of other tools"); else each is one field of bytes, "value". Reads tags, lengths, numbers
/// and strings that may be text; steps over all else. A frame whose length cannot be trusted ends
/// it: the scan will say so. Memory: a window of 32 KiB, and 1024 features. Errors:
/// Code::unsupported, by name, for compressed files, features whose names would be one, a number
/// that is absent in some records, more than 1024 features, and where no feature can be located;
/// Code::schema for a feature's name; Code::damaged if no record can be read; Code::io.
[[nodiscard]] Survey survey_record_file(const InputFile& file, std::optional<Dialect> dialect,
                                        const WalkProgress& progress = {});

}  // namespace shale
