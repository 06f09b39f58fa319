#include "shale/manifest/naming.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "shale/base/path_text.hpp"
#include "shale/io/path_facts.hpp"

namespace shale {

std::string shard_name(std::uint64_t number) { return fmt::format("shard-{:06}", number); }

std::optional<std::uint64_t> shard_of_file(std::string_view name) {
  constexpr std::string_view kPrefix = "shard-";
  constexpr std::size_t kLeastDigits = 6;
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view rest = name.substr(kPrefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  const auto digits = static_cast<std::size_t>(end - rest.data());
  if (error != std::errc() || digits < kLeastDigits || digits == rest.size() || *end != '.')
    return std::nullopt;
  // What other programs have beside a tar (docs/webdataset.md).
  if (rest.ends_with(".idx")) return std::nullopt;
  const std::string_view stem = name.substr(0, kPrefix.size() + digits);
  return stem == shard_name(number) ? std::optional(number) : std::nullopt;
}

std::string list_name(std::string_view list, std::uint64_t run) {
  if (run == 0) return std::string(list);
  const std::size_t stem = list.rfind('.');
  return fmt::format("{}-{:06}{}", list.substr(0, stem), run, list.substr(stem));
}

bool is_list_name(std::string_view name, std::string_view list) {
  const std::size_t stem = list.rfind('.');
  if (name == list) return true;
  if (name.size() <= list.size() + 1 || !name.starts_with(list.substr(0, stem))) return false;
  std::uint64_t run = 0;
  std::from_chars(name.data() + stem + 1, name.data() + name.size(), run);
  return run > 0 && name == list_name(list, run);
}

std::string part_name(const PartNumber& part) {
  return fmt::format("part-{:05}-of-{:05}", part.index, part.count);
}

std::optional<PartNumber> part_of_name(std::string_view name) {
  constexpr std::string_view kBegin = "part-", kBetween = "-of-";
  const std::size_t between = name.find(kBetween);
  if (!name.starts_with(kBegin) || between == std::string_view::npos) return std::nullopt;
  PartNumber part;
  const std::string_view index = name.substr(kBegin.size(), between - kBegin.size()),
                         count = name.substr(between + kBetween.size());
  std::from_chars(index.data(), index.data() + index.size(), part.index);
  std::from_chars(count.data(), count.data() + count.size(), part.count);
  const bool is_whole =
      part.index < part.count && part.count <= kMostParts && part_name(part) == name;
  return is_whole ? std::optional(part) : std::nullopt;
}

bool is_split_name(std::string_view name) {
  return std::ranges::find(kSplitNames, name) != std::end(kSplitNames);
}

bool is_dataset_file(std::string_view name) {
  return name == kManifestName || is_list_name(name, kSkippedName) ||
         is_list_name(name, kImagesName) || is_list_name(name, kIgnoredName) ||
         is_list_name(name, kDuplicatesName) || shard_of_file(name).has_value();
}

DatasetPaths::DatasetPaths(const std::string& directory)
    : manifest(join_path(directory, kManifestName)), shards(directory), lists(directory) {
  if (stands(manifest)) return;
  const std::string next = join_path(join_path(directory, kWorkFolder), kNewFolder);
  const std::string next_manifest = join_path(next, kManifestName);
  if (!stands(join_path(next, kWholeName)) || !stands(next_manifest)) return;
  manifest = next_manifest;
  shards = lists = next;
}

DatasetPaths DatasetPaths::of_file(const std::string& file, const std::string& index_folder) {
  const std::size_t slash = file.rfind('/');
  const std::string name = slash == std::string::npos ? file : file.substr(slash + 1);
  DatasetPaths paths;
  paths.shards = slash == std::string::npos ? "." : file.substr(0, std::max<std::size_t>(slash, 1));
  paths.lists = index_folder.empty() ? paths.shards : index_folder;
  paths.manifest = join_path(paths.lists, fmt::format("{}.{}", name, kManifestName));
  return paths;
}

}  // namespace shale
