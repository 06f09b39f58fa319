#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "shale/sums/message_digest.hpp"

// Lists of checksums as sha256sum and md5sum of GNU coreutils write and read them: "DIGEST  NAME",
// a star before the name for what was read as binary, a back-slash before the line where the name
// has escapes (\\, \n, \r); or as BSD writes them, "SHA256 (NAME) = DIGEST"; each with a NUL
// behind it instead, and no escapes (--zero).

namespace shale {

struct SumList {
  DigestKind kind = DigestKind::sha256;
  std::map<std::string, std::string> digest_of = {};  ///< in lower case, by name without "./"
};

/// What a file holds, if its first line is one of such a list; else nullopt. Errors: Code::damaged,
/// with the line, for a later one that is none of the same kind, or names a file again with another
/// digest; Code::unsupported for SHA-1, SHA-224, SHA-384 and SHA-512; Code::limit for a list of
/// more than `most_bytes`; Code::io.
[[nodiscard]] std::optional<SumList> read_sum_list(const std::string& path,
                                                   std::uint64_t most_bytes);

/// What all names begin with where none is relative to a folder, "/data/set/" or "../": a path up
/// to its last slash. Empty: one is.
[[nodiscard]] std::string prefix_outside(const SumList& list);

/// A line with its end.
[[nodiscard]] std::string sum_line(std::string_view digest, std::string_view name);

}  // namespace shale
