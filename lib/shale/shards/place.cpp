#include "shale/shards/place.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/rebuild_hint.hpp"
#include "shale/shards/work_folder.hpp"

namespace shale {

namespace {

constexpr std::size_t kMostEntriesBesideSplits = 4096;
// `kMostLooks`: where somebody works.
constexpr int kLooksAtPlace = 3, kMostLooks = 30;

// The unfinished dataset is that of a Writer.
bool is_of_program(const std::string& directory) try {
  const std::string kind = fmt::format("\tinput kind={}\t", kProgramKind);
  return WorkFolder::run_left_in(directory).head.find(kind) != std::string::npos;
} catch (const Error&) {
  return false;  // its journal is damaged
}

std::optional<struct stat> facts_to_look_at(const std::string& path) try {
  return facts_behind(path);
} catch (Error& error) {
  error.hint("check the permissions of its parent folders, and look for broken links");
  throw;
}

// More than one look: a set that takes the place of another is in one of two places at any time,
// and may change between them.
bool holds_manifest(const std::string& directory) {
  for (int look = 0; look < kLooksAtPlace; ++look) {
    if (is_manifest(DatasetPaths(directory).manifest)) return true;
  }
  return false;
}

// The first by name; empty: there is none.
std::string first_part_in(const std::string& directory) {
  std::string part;
  visit_names(directory, [&](const std::string& name) {
    if (part_of_name(name) && (part.empty() || name < part)) part = name;
    return true;
  });
  return part;
}

}  // namespace

// It may be anybody's: who has thousands of entries has no splits.
std::vector<std::string> splits_of_parts_in(const std::string& directory) {
  std::vector<std::string> names;
  std::size_t left = kMostEntriesBesideSplits;
  visit_names(directory, [&](const std::string& name) {
    names.push_back(name);
    return left-- > 0;
  });
  std::erase_if(names, [&](const std::string& name) {
    const std::string path = join_path(directory, name);
    const std::optional<struct stat> facts = facts_behind(path);
    return !facts || !S_ISDIR(facts->st_mode) || first_part_in(path).empty();
  });
  std::ranges::sort(names);
  return names;
}

namespace {

// While it comes to its name one and the same index has another place, which counts, too.
FileStamp stamp_of_index(const std::string& file) {
  const std::string manifest = paths_of_index(file, "").manifest;
  std::optional<FileStamp> stamp = stamp_of(manifest);
  if (!stamp || *stamp == FileStamp{}) return {};
  stamp->inode += manifest.size();
  return *stamp;
}

}  // namespace

// More than one look, as for a set.
DatasetPaths paths_of_index(const std::string& file, const std::string& index_folder) {
  DatasetPaths paths = DatasetPaths::of_file(file, index_folder);
  const std::string name = file.substr(file.rfind('/') + 1);
  const std::string work = WorkFolder::path_beside(join_path(paths.lists, name)),
                    next = join_path(work, WorkFolder::kNewName),
                    next_manifest = join_path(next, fmt::format("{}.{}", name, kManifestName)),
                    old = join_path(work, kOldManifest);
  for (int look = 0; look < kMostLooks; ++look) {
    if (is_manifest(paths.manifest)) return paths;
    // Nothing is under way: if the index has come to its name since, it is there.
    if (!stands(work)) return paths;
    const bool is_file_old = stands(join_path(next, name));
    if (is_file_old && is_manifest(old)) {
      paths.manifest = old;
      return paths;
    }
    if (!is_file_old && stands(join_path(next, kWholeName)) && is_manifest(next_manifest)) {
      paths.manifest = next_manifest;
      paths.lists = next;
      return paths;
    }
  }
  return paths;
}

StandingState::Stamps::Stamps(const std::string& path, const DatasetPaths& paths)
    : manifest(stamp_of(paths.manifest).value_or(FileStamp{})),
      index(stamp_of_index(path)),
      file(stamp_of(path).value_or(FileStamp{})),
      data(stamp_of(join_path(path, "data.mdb")).value_or(FileStamp{})) {}

StandingState::StandingState(std::string path)
    : path_(std::move(path)), paths_(path_), stamps_(path_, paths_) {}

bool StandingState::is_replaced() const {
  const auto is_other = [](const FileStamp& now, const FileStamp& then) {
    return now.inode != then.inode || now.device != then.device;
  };
  const DatasetPaths paths(path_);
  const Stamps now(path_, paths);
  return paths.manifest != paths_.manifest || now.manifest != stamps_.manifest ||
         now.index != stamps_.index || is_other(now.file, stamps_.file) ||
         is_other(now.data, stamps_.data);
}

Error StandingState::replaced() const {
  if (stamps_.manifest != FileStamp{}) return replaced_dataset(paths_.manifest);
  return Error(Code::mismatch, "the file was replaced after it was opened")
      .at(path_)
      .hint("open it again");
}

std::string public_manifest(const std::string& manifest) {
  const std::string inner =
      join_path(join_path(std::string(kWorkFolder), WorkFolder::kNewName), kManifestName);
  if (!manifest.ends_with("/" + inner)) return manifest;
  return join_path(manifest.substr(0, manifest.size() - inner.size() - 1), kManifestName);
}

Error replaced_dataset(const std::string& manifest) {
  return Error(Code::mismatch, "the dataset was replaced after it was opened")
      .at(public_manifest(manifest))
      .hint("open it again");
}

Place look_at(const std::string& path) {
  const std::optional<struct stat> facts = facts_to_look_at(path);
  if (!facts) return Place::absent;
  if (!S_ISDIR(facts->st_mode)) return Place::other_file;
  if (::access(path.c_str(), X_OK) != 0 && errno == EACCES) {
    throw Error(Code::io, "cannot be entered")
        .at(path)
        .because_errno(EACCES)
        .hint("check the permissions of the folder");
  }
  if (holds_manifest(path)) return Place::dataset;
  const WorkFolderState work = work_folder_at(join_path(path, kWorkFolder));
  if (work == WorkFolderState::ours) return Place::unfinished;
  bool is_empty = true;
  // One entry is enough to know: the folder may have millions.
  visit_names(path, [&](const std::string& name) {
    return is_empty = work == WorkFolderState::blank && name == kWorkFolder;
  });
  return is_empty ? Place::empty_folder : Place::other_folder;
}

// By one of shale's lists: a tar or another file of this name may be of any program. A few entries
// tell: a folder may have millions.
bool has_shards(const std::string& folder) try {
  constexpr int kMostLookedAt = 1000;
  int looked_at = 0;
  bool is_found = false;
  visit_names(folder, [&](const std::string& name) {
    const std::optional<std::uint64_t> shard = shard_of_file(name);
    is_found = shard && (name == shard_name(*shard).append(kIndexSuffix) ||
                         name == shard_name(*shard).append(kBlocksSuffix));
    return !is_found && ++looked_at < kMostLookedAt;
  });
  return is_found;
} catch (const Error&) {
  return false;
}

bool holds_dataset(const std::string& folder) try {
  return holds_manifest(folder) ||
         work_folder_at(join_path(folder, kWorkFolder)) == WorkFolderState::ours;
} catch (const Error&) {
  return false;
}

std::vector<std::string> splits_in(const std::string& directory) {
  std::vector<std::string> names;
  if (look_at(directory) != Place::other_folder) return names;
  // The files of a set, of which there may be 10^5: none is a folder.
  if (facts_at(join_path(directory, kSetIndexFolder))) return names;
  bool holds_any = false;
  for (const std::string_view name : kSplitNames) {
    const std::string path = join_path(directory, name);
    const Place place = look_at(path);
    if (place == Place::absent || place == Place::other_file) continue;
    holds_any = holds_any || place == Place::dataset || place == Place::unfinished;
    names.emplace_back(name);  // also one that lacks its manifest: it is not to be passed over
  }
  if (!holds_any) names.clear();
  // A split has any name. The folder may be anybody's: who has thousands of entries has no splits.
  std::vector<std::string> others;
  std::size_t left = kMostEntriesBesideSplits;
  visit_names(directory, [&](const std::string& name) {
    const bool may_be_one = !is_split_name(name) && !name.starts_with('.') && !part_of_name(name);
    const auto facts = may_be_one ? facts_behind(join_path(directory, name)) : std::nullopt;
    if (facts && S_ISDIR(facts->st_mode) && holds_dataset(join_path(directory, name)))
      others.push_back(name);
    return left-- > 0;
  });
  std::ranges::sort(others);
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

std::optional<Error> several_datasets(const std::string& directory) try {
  if (look_at(directory) != Place::other_folder) return std::nullopt;
  if (facts_at(join_path(directory, kSetIndexFolder))) return std::nullopt;
  const std::string part = first_part_in(directory);
  if (!part.empty()) {
    return Error(Code::unsupported, "holds parts of a dataset, which are not merged yet")
        .at(directory)
        .hint(fmt::format("'shale merge {} OUTPUT' joins them; or name one of them: {}",
                          printable(directory), printable(join_path(directory, part))));
  }
  const std::vector<std::string> splits = splits_in(directory);
  if (splits.empty()) {
    const std::vector<std::string> of_parts = splits_of_parts_in(directory);
    if (of_parts.empty()) return std::nullopt;
    return Error(Code::unsupported,
                 "holds a folder of parts for each split ({}), and one dataset is needed",
                 printable(fmt::format("{}", fmt::join(of_parts, ", "))))
        .at(directory)
        .hint(fmt::format("'shale merge {} OUTPUT' joins those of one split",
                          printable(join_path(directory, of_parts.front()))));
  }
  return Error(Code::unsupported, "holds a dataset per split ({}), and one dataset is needed",
               printable(fmt::format("{}", fmt::join(splits, ", "))))
      .at(directory)
      .hint("name one of them: " + printable(join_path(directory, splits.front())));
} catch (const Error&) {
  return std::nullopt;
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

std::optional<std::string> note_of_unfinished_run(const std::string& dataset) {
  const std::string work = join_path(dataset, kWorkFolder);
  if (work_folder_at(work) != WorkFolderState::ours) return std::nullopt;
  return fmt::format(
      "{}: a run that appends to the dataset, or changes it, is not finished; the same command "
      "finishes it",
      printable(work));
}

Error unfinished(const std::string& path) {
  return Error(Code::mismatch, "is an unfinished dataset: it has no dataset.json yet")
      .at(path)
      .hint(is_of_program(path) ? "run the program that was writing it again; a Writer with "
                                  "resume=True goes on with it"
                                : "run the command that was writing it again");
}

}  // namespace shale
