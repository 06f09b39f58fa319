#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// The names in a dataset's directory. docs/layout.md lists them.

namespace shale {

inline constexpr std::string_view kManifestName = "dataset.json";
inline constexpr std::string_view kWorkFolder =
    ".shale";  ///< journal and temporary files, gone after the manifest
inline constexpr std::string_view kSkippedName = "skipped.csv";
inline constexpr std::string_view kImagesName = "images.csv";
inline constexpr std::string_view kIndexSuffix = ".index.npy", kBlocksSuffix = ".blocks.npy";

/// "shard-000007"; more digits from a million on.
[[nodiscard]] std::string shard_name(std::uint64_t number);

/// True for a name that only shale gives: a manifest, a list beside it, or a file of a shard.
[[nodiscard]] bool is_dataset_file(std::string_view name);

/// directory + "/" + name.
[[nodiscard]] std::string join_path(std::string_view directory, std::string_view name);

}  // namespace shale
