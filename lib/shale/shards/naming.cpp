#include "shale/shards/naming.hpp"

#include <fmt/format.h>

namespace shale {

std::string shard_name(std::uint64_t number) { return fmt::format("shard-{:06}", number); }

bool is_dataset_file(std::string_view name) {
  if (name == kManifestName || name == kSkippedName || name == kImagesName) return true;
  constexpr std::string_view kPrefix = "shard-";
  if (!name.starts_with(kPrefix)) return false;
  const std::size_t digits_end = name.find_first_not_of("0123456789", kPrefix.size());
  return digits_end != std::string_view::npos && digits_end >= kPrefix.size() + 6 &&
         name[digits_end] == '.';
}

std::string join_path(std::string_view directory, std::string_view name) {
  if (directory.empty()) return std::string(name);
  return fmt::format("{}{}{}", directory, directory.ends_with('/') ? "" : "/", name);
}

}  // namespace shale
