#include "shale/shards/naming.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace shale {

std::string shard_name(std::uint64_t number) { return fmt::format("shard-{:06}", number); }

bool is_dataset_file(std::string_view name) {
  if (name == kManifestName || name == kSkippedName || name == kImagesName || name == kIgnoredName)
    return true;
  constexpr std::string_view kPrefix = "shard-";
  if (!name.starts_with(kPrefix)) return false;
  const std::size_t digits_end = name.find_first_not_of("0123456789", kPrefix.size());
  return digits_end != std::string_view::npos && digits_end >= kPrefix.size() + 6 &&
         name[digits_end] == '.';
}

DatasetPaths::DatasetPaths(const std::string& directory)
    : manifest(join_path(directory, kManifestName)), shards(directory), lists(directory) {}

DatasetPaths DatasetPaths::of_file(const std::string& file, const std::string& index_folder) {
  const std::size_t slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  DatasetPaths paths;
  paths.shards = slash == std::string::npos ? "." : file.substr(0, std::max<std::size_t>(slash, 1));
  paths.lists = index_folder.empty() ? paths.shards : index_folder;
  paths.manifest = join_path(paths.lists, fmt::format("{}.{}", name, kManifestName));
  return paths;
}

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  return fmt::format("{}{}{}", directory, directory.ends_with('/') ? "" : "/", name);
}

}  // namespace shale
