#include "shale/sources/compressed_samples.hpp"

#include <optional>
#include <vector>

#include "shale/archives/archive_set.hpp"
#include "shale/archives/stream_path.hpp"
#include "shale/datasets/file_format.hpp"
#include "shale/datasets/file_set.hpp"

namespace shale {

bool are_compressed_samples(const std::string& path) {
  const auto is_compressed = [](const std::string& file) {
    return is_archive_of_samples(file) && stream_of_path(file, TarsAs::files);
  };
  if (const std::optional<std::string> file = file_of_path(path)) return is_compressed(*file);
  if (has_archive_suffix(path)) return false;  // a pattern of others: they are not looked for
  const std::optional<std::vector<SetMember>> files = files_of_set(path);
  return files && is_compressed(files->front().path);
}

}  // namespace shale
