#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/datasets/file_format.hpp"
#include "shale/format/format.hpp"
#include "shale/manifest/naming.hpp"

// Shards that other tools wrote: an LMDB, HDF5 or TFRecord file gets an index of its own,
// FILE.index.npy, with a manifest of one shard, FILE.dataset.json, and is then read like any
// dataset (docs/foreign.md). Where its rows are fixed the manifest is all: there is no index.

namespace shale {

/// How a file of another tool is to be read.
struct ForeignRequest {
  std::string file;
  std::string index_folder;  ///< of FILE.index.npy and the rest; empty: beside the file
  /// Nothing: as the existing index was made; if there is none, as shale wrote the file, else
  /// as it is recognized.
  Parsing parsing = {};
  bool with_checksums = false;  ///< reads the payload: crc32c columns, block list, digests
  std::string generator;
  std::uint64_t memory_bytes = 256 << 20;  ///< for one sample at a time, with checksums
  /// An index that exists and is still right stays as it is, however it was made.
  bool keeps_fresh = false;
  bool is_only_planned = false;     ///< nothing is written
  std::string scratch_folder = {};  ///< for index_without_name
  /// Of the set that the file belongs to: all of its fields, or more. Null: its own.
  const Schema* schema = nullptr;
  /// With `schema`: the fields whose values are next to the index (ShardLayout::has_values) since
  /// they do so in some file of the set; the empty name: the keys.
  std::set<std::string> beside = {};
  bool drops_keys = false;         ///< with `schema`: the set has none (JoinedFiles)
  bool takes_damaged = false;      ///< for index_without_name: only what is whole (Format::salvage)
  const Format* format = nullptr;  ///< null: as it is recognized, which one without bytes is not
};

/// ForeignRequest::beside of such an index.
[[nodiscard]] std::set<std::string> fields_beside(const Manifest& manifest);
/// Sets the parts of a file whose fields, but for those of them, lie in it. Of fields that the
/// schema lacks nothing follows.
void place_parts(ShardLayout& layout, const Schema& schema, const std::set<std::string>& beside);

/// The error for an index without checksums where payload is to be verified.
[[nodiscard]] Error no_checksums(const std::string& index);
/// Indexes a file, replacing an existing index. Nothing is written if the file is damaged or
/// cannot be indexed. Memory: one window, and with checksums one sample or 4 MiB. Errors: same as
/// Format::survey; Code::damaged with the first finding; Code::mismatch if the file changes
/// in the meantime; Code::io.
struct IndexedFile {
  Manifest manifest;
  std::vector<std::string> notes;
};
IndexedFile index_file(const ForeignRequest& request, const Events& events);

/// The same without a trace, however the process ends: index and block list are files without
/// names, in request.scratch_folder, or in memory if it is empty. In memory, indexed samples get
/// neither block list nor digests. `paths` and `shard` are right as long as `files` lives, in this
/// process and in forked ones.
struct NamelessIndex {
  Manifest manifest;
  ManifestShard shard;
  DatasetPaths paths;
  std::vector<std::string> notes;
  LostRanges lost;
  std::shared_ptr<const void> files;
};
[[nodiscard]] NamelessIndex index_without_name(const ForeignRequest& request, const Events& events);

/// The same in files of a folder: STEM.index.npy and the rest, which are not made durable. What has
/// these names there goes.
struct IndexPart {
  Manifest manifest;
  ManifestShard shard;
  std::vector<std::string> notes;
};
[[nodiscard]] IndexPart index_into(const ForeignRequest& request, const std::string& folder,
                                   const std::string& stem, const Events& events);

/// What the manifest of FILE's index says of its source: the file itself. It tells one content from
/// another as well as sizes and samples of it can, and does not depend on where or when.
[[nodiscard]] ManifestSource source_of_file(const InputFile& file, std::string_view format,
                                            std::uint64_t samples, std::uint64_t payload_bytes);
/// The same of a file that was so.
[[nodiscard]] ManifestSource source_of_file(const FileFingerprint& state, std::uint64_t bytes,
                                            std::string_view format, std::uint64_t samples,
                                            std::uint64_t payload_bytes);

}  // namespace shale
