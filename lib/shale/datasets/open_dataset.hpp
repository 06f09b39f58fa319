#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {

/// A dataset that is to be read: a directory that shale wrote, or a file of another tool.
struct DatasetRequest {
  std::string path;
  std::string index_folder = {};  ///< where the index of a file is looked for; empty: beside it
  std::optional<Dialect> dialect = {};  ///< of a file: nullopt: as its index says, else as
                                        ///< shale wrote it, else plain
  bool with_checksums = false;          ///< of a file: crc32c and digests are wanted
  std::string generator = {};
  std::uint64_t memory_bytes = 256 << 20;
  bool may_unpack = false;  ///< a file whose samples cannot be located is unpacked, on the disk
  /// All is to be read: the checksums of a file's own container are proved where its index has
  /// none.
  bool proves_container = false;
};

/// A dataset whose manifest has been read. Of a file without an index, one is made in files without
/// names in the temporary folder, which are gone with the last copy of this, or with the process,
/// whatever ends it; so is what a file was unpacked into. The index
/// of a file of at most a quarter of the memory stays in memory if there is no such folder.
struct OpenedDataset {
  DatasetPaths paths;
  Manifest manifest;
  ShardList shards;
  std::vector<std::string> notes;               ///< what of a file is left out
  std::shared_ptr<const void> temporary_index;  ///< null: the index stands where it was found
  std::vector<FileFingerprint> file_states;     ///< of the files of a list, a shard each
};

/// Errors: Code::not_found; Code::mismatch for an unfinished dataset, or a file that has changed
/// since it was indexed; Code::unsupported for anything that is not a dataset; same as
/// read_manifest and index_file; Code::damaged for a file that the checksums of its container prove
/// so.
[[nodiscard]] OpenedDataset open_dataset(const DatasetRequest& request, const Events& events);

/// An option that is for files of other tools, where the input is none but `kind`.
[[nodiscard]] Error for_files_only(std::string_view option, const std::string& path,
                                   std::string_view kind);
/// Refuses --index-dir and --parse for an input that is not a file of another tool, but `kind`.
/// Errors: Code::usage.
void refuse_file_options(const std::string& path, std::string_view kind,
                         const std::string& index_folder, std::optional<Dialect> dialect);
inline constexpr std::string_view kOwnDataset = "a shale dataset";

/// The row that a key stands for where keys are the numbers of rows, 0 to rows - 1; nullopt for
/// anything else, also for the number in another spelling.
[[nodiscard]] std::optional<std::uint64_t> row_of_number(std::string_view key, std::uint64_t rows);

}  // namespace shale
