#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shale {

/// Parses a size: digits with an optional fraction and unit. `K M G T` and `KiB MiB GiB TiB` are
/// powers of 1024, `kB MB GB TB` powers of 1000, `B` or nothing is bytes. "1.5GiB" is
/// 1'610'612'736.
/// `what` names it in the error.
/// Errors: Code::usage for anything else, a fraction of a byte (or of more than 18 digits), or 2^63
/// and more.
[[nodiscard]] std::uint64_t parse_size(std::string_view text, std::string_view what = "size");

/// Bytes for people: "512 B", "1.5 GiB" (binary units, three significant digits).
[[nodiscard]] std::string format_size(std::uint64_t bytes);

/// A count with thousands separated: "1,281,167".
[[nodiscard]] std::string format_count(std::uint64_t count);

/// A count with its noun: "1 shard", "1,281,167 shards".
[[nodiscard]] std::string format_counted(std::uint64_t count, std::string_view one,
                                         std::string_view many);

/// Parses a whole decimal number without sign; `what` names it in the error.
/// Errors: Code::usage.
[[nodiscard]] std::uint64_t parse_count(std::string_view text, std::string_view what);

}  // namespace shale
