#include "shale/shards/place.hpp"

#include <filesystem>

#include "shale/shards/manifest_file.hpp"
#include "shale/shards/naming.hpp"
#include "shale/shards/work_folder.hpp"

namespace shale {

namespace fs = std::filesystem;

Place look_at(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return Place::absent;
  if (status.type() == fs::file_type::none) {
    throw Error(Code::io, "cannot be reached")
        .at(path)
        .because(error.message())
        .hint("check the permissions of its parent folders, and look for broken links");
  }
  if (!fs::is_directory(status)) return Place::other_file;
  if (is_manifest(join_path(path, kManifestName))) return Place::dataset;
  const WorkFolderState work = work_folder_at(join_path(path, kWorkFolder));
  if (work == WorkFolderState::ours) return Place::unfinished;
  // One entry is enough to know: the folder may have millions.
  for (fs::directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    if (work == WorkFolderState::blank && entry->path().filename() == kWorkFolder) continue;
    return Place::other_folder;
  }
  if (error) throw Error(Code::io, "cannot be listed").at(path).because(error.message());
  return Place::empty_folder;
}

bool holds_dataset(const std::string& folder) try {
  return is_manifest(join_path(folder, kManifestName)) ||
         work_folder_at(join_path(folder, kWorkFolder)) == WorkFolderState::ours;
} catch (const Error&) {
  return false;
}

std::optional<Error> url_error(std::string_view path) {
  constexpr std::string_view kSchemeLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-";
  const std::size_t end = path.find_first_not_of(kSchemeLetters);
  if (end == 0 || end == std::string_view::npos || !path.substr(end).starts_with("://"))
    return std::nullopt;
  return Error(Code::unsupported, "{}:// is not supported yet", path.substr(0, end))
      .at(path)
      .hint(
          "use a path on a local disk, and copy datasets with the tools of your storage "
          "(docs/cloud.md)");
}

Error absent(const std::string& path) {
  return url_error(path).value_or(Error(Code::not_found, "does not exist").at(path));
}

Error unfinished(const std::string& path) {
  return Error(Code::mismatch, "is an unfinished dataset: it has no dataset.json yet")
      .at(path)
      .hint("run the command that was writing it again");
}

}  // namespace shale
