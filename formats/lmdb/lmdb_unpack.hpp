#pragma once

#include <optional>
#include <string_view>

#include "shale/base/decoder.hpp"
#include "shale/format/format.hpp"

namespace shale {

/// How the values of a database are compressed that are pickles below, by the first one that is
/// longer than a number; Packing::none: they are not, or the file is damaged on the way to it.
/// Errors: Code::io.
[[nodiscard]] Packing packing_of_values(const InputFile& file, std::string_view database);

/// Writes the entries of an LMDB file with values that are compressed one by one (gzip, zlib, zstd)
/// into another, decompressed: see Format::unpack. Nullopt: their contents are nothing that is
/// known. What is short and not compressed, such as a count, stays as it is. Memory: a value, at
/// most a quarter of the memory. Errors: Code::limit for one that is larger; Code::unsupported for
/// another value that is not compressed; Code::damaged.
[[nodiscard]] std::optional<UnpackReport> unpack_lmdb_file(const UnpackRequest& request);

}  // namespace shale
