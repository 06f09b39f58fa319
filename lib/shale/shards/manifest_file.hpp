#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/io/input_file.hpp"
#include "shale/shards/naming.hpp"

// dataset.json: the commit of a dataset, written last. docs/manifest.md gives every member. One
// shard a line, so that a set of 10^5 shards is written and read as a stream; the last member is
// the hash of every other byte of the file.

namespace shale {

/// One shard as its line in the manifest and in the journal, without line end.
[[nodiscard]] std::string shard_line(const ManifestShard& shard);
/// Errors: Code::damaged.
[[nodiscard]] ManifestShard parse_shard_line(std::string_view line);

/// Hands every shard to the visitor, in order.
using ForEachShard = std::function<void(const std::function<void(const ManifestShard&)>&)>;

/// Writes dataset.json into `directory`, atomically and durably. Nothing in it depends on time,
/// host or path. Errors: Code::io.
void write_manifest(const std::string& directory, const Manifest& manifest,
                    const ForEachShard& shards);

/// The same at any path. For shards of other tools.
void write_manifest_file(const std::string& path, const Manifest& manifest,
                         const ForEachShard& shards);

/// True for a file that begins as a manifest of shale, or ends as one, whole or damaged: any other
/// file is somebody else's, whatever it is called. Errors: Code::io.
[[nodiscard]] bool is_manifest(const std::string& path);

/// Reads a manifest: proves its self-hash first, then parses, handing out the shards as they come.
/// Memory: one shard at a time, besides the class table.
/// Errors: Code::not_found; Code::damaged with both hashes, or with the member that is off;
/// Code::unsupported for a newer format_version or an unknown requirement, by name.
[[nodiscard]] Manifest read_manifest(
    const DatasetPaths& paths, const std::function<void(const ManifestShard&)>& visit_shard = {});

/// Where the line of a shard stands in its manifest, and its first row over the dataset.
struct ShardLine {
  std::uint64_t first_row = 0, samples = 0, offset = 0, bytes = 0;
};
/// A manifest for random access: the shards stay in the file, 32 bytes are held for each.
struct ManifestOutline {
  Manifest manifest;
  std::vector<ShardLine> shards;
};
/// Proves the self-hash, parses all but the shards, and finds their lines: 10^5 in a tenth of a
/// second. Errors: as read_manifest.
[[nodiscard]] ManifestOutline read_manifest_outline(const InputFile& file);
/// One shard of it. Errors: as parse_shard_line; Code::damaged if the line speaks of another number
/// of samples.
[[nodiscard]] ManifestShard read_shard_line(const InputFile& file, const ShardLine& line);
/// The hash of itself that a manifest ends with, 32 digits, not proved. Errors: Code::damaged.
[[nodiscard]] std::string self_hash_of(const InputFile& file);

}  // namespace shale
