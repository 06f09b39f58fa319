#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/manifest.hpp"
#include "shale/manifest/plain_shard_line.hpp"

// The members of a manifest as JSON and back. docs/manifest.md gives every member. What is read is
// hostile: nesting, members and memory are bounded, strings are made printable, and numbers that
// contradict one another are damage.

namespace shale {

/// ManifestSource::kind of the index of a set of files of another tool, in its manifest.
inline constexpr std::string_view kFileSetKind = "set of files";
[[nodiscard]] bool is_file_set(const Manifest& manifest);

/// One member of the top level: its name, and its value as JSON.
struct ManifestMember {
  std::string name, value;
};
/// Every member but the shards and the hash, in order.
[[nodiscard]] std::vector<ManifestMember> head_members(const Manifest& manifest);

/// The same backwards: `text` is the whole manifest but its shards.
/// Errors: Code::damaged; Code::limit if it would take more than `most_bytes`; Code::unsupported
/// for a newer format_version or an unknown requirement, by name.
[[nodiscard]] Manifest parse_manifest_head(std::string_view text, std::uint64_t most_bytes);

/// A line that shard_line gave. Errors: Code::damaged; Code::limit if it would take more than
/// `most_bytes`.
[[nodiscard]] ManifestShard parse_shard_line(std::string_view line,
                                             std::uint64_t most_bytes = std::uint64_t{32} << 20);

/// The error for a manifest that does not fit in its memory.
[[nodiscard]] Error too_large_manifest(std::uint64_t most_bytes);

}  // namespace shale
