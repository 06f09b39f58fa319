#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/format/format.hpp"

namespace shale {

[[nodiscard]] Error too_large_value(std::uint64_t bytes);

/// Writes the entries of an LMDB file with values that are compressed one by one (gzip, zlib, zstd,
/// LZ4) into another, decompressed, and as msgpack maps those that are JSON, or dicts of pickle or
/// msgpack with lists of numbers, which are arrays there: see Format::unpack. Nullopt: their
/// contents are nothing that is known, or lie in them as they are to be. What is short and not
/// compressed, such as a count, stays as it is. Memory: a value, at most a quarter of the memory.
/// Of a damaged file the entries that are whole are written before (save_whole_entries).
/// Errors: Code::limit for one that is larger; Code::unsupported for another value that is not
/// compressed; Code::damaged.
[[nodiscard]] std::optional<UnpackReport> unpack_lmdb_file(const UnpackRequest& request);

/// Writes the entries of a damaged LMDB file that are whole into another: those of leaf pages that
/// can be reached and have nothing wrong with them, whose values lie where their headers say. Of
/// the values of a key all or none are, as their numbers are in the keys of the samples. Databases
/// that are joined keep their names; what a damaged one no longer has a partner for is lost.
/// Returns what is lost; nullopt for a file whose databases are not named in the request.
/// Memory: a value, at most a quarter of the memory. Errors: Code::damaged where the meta pages do
/// not say what the file is, or no entry is whole; Code::limit; Code::io.
[[nodiscard]] std::optional<LostRanges> save_whole_entries(const UnpackRequest& request,
                                                           const NamelessFile& into);

}  // namespace shale
