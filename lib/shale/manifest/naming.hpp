#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shale/data/part_number.hpp"

// The names in a dataset's directory. docs/layout.md lists them.

namespace shale {

inline constexpr std::string_view kManifestName = "dataset.json";
inline constexpr std::string_view kWorkFolder =
    ".shale";  ///< journal and temporary files, gone after the manifest
/// In the work folder: where the new set is made. As long as a file of the second name is in it,
/// all of a complete set is, whatever has got its name already.
inline constexpr std::string_view kNewFolder = "new", kWholeName = "whole";
inline constexpr std::string_view kSkippedName = "skipped.csv";
inline constexpr std::string_view kImagesName = "images.csv";
inline constexpr std::string_view kIgnoredName = "ignored.csv";
inline constexpr std::string_view kDuplicatesName = "duplicates.csv";
/// The lists of a run that was appended: "skipped-000001.csv" of the second one. `list` is one of
/// the names above; `run` 0 is the first one's.
[[nodiscard]] std::string list_name(std::string_view list, std::uint64_t run);
/// True for that name, whatever the run.
[[nodiscard]] bool is_list_name(std::string_view name, std::string_view list);
inline constexpr std::string_view kIndexSuffix = ".index.npy", kElementsSuffix = ".elements.npy",
                                  kBlocksSuffix = ".blocks.npy", kValuesSuffix = ".values";
/// Of all files about a shard.
inline constexpr std::string_view kListSuffixes[] = {kIndexSuffix, kElementsSuffix, kBlocksSuffix,
                                                     kValuesSuffix};

/// "shard-000007"; more digits from a million on.
[[nodiscard]] std::string shard_name(std::uint64_t number);

/// The number of the shard that a file belongs to, by its name, "shard-000007.lmdb"; nullopt for
/// any other name.
[[nodiscard]] std::optional<std::uint64_t> shard_of_file(std::string_view name);

/// "part-00003-of-00128": the directory of a part.
[[nodiscard]] std::string part_name(const PartNumber& part);

/// The part that a directory of this name is for; nullopt for any other name.
[[nodiscard]] std::optional<PartNumber> part_of_name(std::string_view name);

/// The names of splits, for folders of an input and directories of datasets: train first, the rest
/// bytewise.
inline constexpr std::string_view kSplitNames[] = {"train", "test", "val", "valid", "validation"};
[[nodiscard]] bool is_split_name(std::string_view name);

/// True for a name that only shale gives: a manifest, a list beside it, or a file of a shard.
[[nodiscard]] bool is_dataset_file(std::string_view name);

/// Where the files of a dataset lie: those of shale all in one directory; those about a shard FILE
/// of another tool, FILE.dataset.json and its lists, beside it or in a directory for indexes.
struct DatasetPaths {
  std::string manifest;       ///< the file
  std::string shards, lists;  ///< the folders of the shards, and of their indexes and block lists
  DatasetPaths() = default;
  /// A dataset of shale: a path is as good. While a new one takes the place of the old, that is the
  /// one in the work folder. Errors: same as facts_at.
  DatasetPaths(const std::string& directory);
  /// `index_folder` empty: beside the file.
  [[nodiscard]] static DatasetPaths of_file(const std::string& file,
                                            const std::string& index_folder);
};

}  // namespace shale
