#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shale/data/manifest.hpp"

// The line of a shard without a JSON library: sets have up to 10^5 of them, each of which is
// written and read several times. It is JSON all the same, and whatever is not as shale writes it
// (an escaped name, a blank, an edited line) is the library's to judge.

namespace shale {

/// One shard as its line in the manifest and in the journal, without line end.
[[nodiscard]] std::string shard_line(const ManifestShard& shard);

/// ManifestShard::state as a line has it. Errors: Code::damaged.
[[nodiscard]] FileFingerprint parse_file_state(std::string_view hex);

/// parse_shard_line of a line in the very form that shard_line gives to names without escapes;
/// nullopt for another one.
[[nodiscard]] std::optional<ManifestShard> parse_plain_shard_line(std::string_view line);

}  // namespace shale
