#include "shale/shards/set_swap.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/format.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/walk.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/readme.hpp"

// The state of a swap is what stands where, so that each step may be done twice:
//
//   work/new/MANIFEST         the new set is complete; until it is there, nothing has changed
//   work/new/whole            a second name of it: the file system has hard links, and all files of
//                             the set stay in the work folder until it stands
//   work/old.json             the old manifest: the old set is going, from now on readers find the
//                             new one in the work folder (DatasetPaths), or without hard links say
//                             "unfinished". Removed when all files that it lists are.
//   work/new/MANIFEST, no     files of the new set are getting their names
//     work/old.json, no MANIFEST
//   MANIFEST                  the new set stands
//
// Of a set that was appended to, whose new manifest says which one it continues:
//
//   work/new/MANIFEST         the new files are on their way to their names, where nothing stands;
//                             readers see the old set, which lists none of them
//   no work/new/MANIFEST      it was renamed over the old one: the new set stands
//
// Of a file that comes to its name together with its index:
//
//   work/new/FILE             the old file stands; readers find its index by work/old.json
//                             (paths_of_index), which comes back
//   no work/new/FILE          the new file stands, and the rest goes as above, to the end also if
//                             there is no work/new/MANIFEST

namespace shale {
namespace {

namespace fs = std::filesystem;

// A list beside the shards.
bool is_list(const std::string& name) {
  return is_dataset_file(name) && name != kManifestName && !shard_of_file(name);
}

// A list about one file: FILE.index.npy.
bool is_list_of(std::string_view name, std::string_view file) {
  return name.starts_with(file) &&
         std::ranges::find(kListSuffixes, name.substr(file.size())) != std::end(kListSuffixes);
}

/// Hands out the names that a manifest lists and that shale gives: whatever else it says, those of
/// a user's files are not among them. The manifest's own is not either.
Manifest visit_own_names(const SetPlace& place, const std::string& manifest_path,
                         const std::function<void(const std::string&)>& visit) {
  const auto visit_own = [&](const std::string& name) {
    const bool is_own = place.indexed_file.empty() ? shard_of_file(name).has_value()
                                                   : is_list_of(name, place.indexed_file);
    if (is_own) visit(name);
  };
  DatasetPaths paths;
  paths.manifest = manifest_path;
  Manifest manifest = read_manifest(paths, [&](const ManifestShard& shard) {
    for (const ManifestFile& file : shard.files) visit_own(file.name);
    for (const ManifestFile* list : shard.lists()) visit_own(list->name);
  });
  if (!place.indexed_file.empty()) return manifest;
  (void)format_of(manifest);  // of a later version: what else belongs to it is not known
  for (const ManifestFile& file : manifest.files) {
    if (is_list(file.name)) visit(file.name);
  }
  return manifest;
}

// The files that belong to shale according to the manifest in the folder. Nothing is held for each
// shard.
class StandingSet {
 public:
  // Errors: Code::exists for a manifest of somebody else, or a damaged one.
  explicit StandingSet(const SetPlace& place) : place_(place) {
    const std::string manifest = join_path(place.folder, place.manifest);
    if (!stands(manifest)) return;
    if (!is_manifest(manifest)) throw not_ours(manifest);
    try {
      manifest_ = visit_own_names(place, manifest, [&](const std::string& name) {
        if (!is_of_shard(name)) others_.insert(name);
      });
    } catch (const Error& error) {
      if (error.code() != Code::damaged) throw;
      throw Error(Code::exists, "is damaged: which files belong to it cannot be determined")
          .at(manifest)
          .because(error.what())
          .hint("restore it from an intact copy, or remove the old output yourself");
    }
  }

  // For a name in the folder. Folders are nobody's file.
  [[nodiscard]] bool lists(const std::string& name) const {
    if (!manifest_ || is_real_folder(join_path(place_.folder, name))) return false;
    return is_of_shard(name) ? lists_shard_file(*manifest_, name) : others_.contains(name);
  }

 private:
  [[nodiscard]] bool is_of_shard(const std::string& name) const {
    return place_.indexed_file.empty() && shard_of_file(name).has_value();
  }

  const SetPlace& place_;
  std::optional<Manifest> manifest_;
  std::set<std::string> others_;
};

// The first by name of the names that a set needs and somebody else has.
class TakenNames {
 public:
  explicit TakenNames(const SetPlace& place) : place_(place), standing_(place) {}

  void look_at(const std::string& name) {
    if (standing_.lists(name)) return;
    if (!first_ || name < *first_) first_ = name;
  }
  // Errors: Code::exists if there is one.
  void refuse() const {
    if (first_) throw not_ours(join_path(place_.folder, *first_));
  }

 private:
  const SetPlace& place_;
  StandingSet standing_;
  std::optional<std::string> first_;
};

void remove_files(const SetPlace& place, const std::string& manifest) {
  (void)visit_own_names(place, manifest, [&](const std::string& name) {
    const std::string path = join_path(place.folder, name);
    if (remove_file(path)) return;
    const int error = errno;
    throw Error(Code::io, "cannot remove a file of the old dataset").at(path).because_errno(error);
  });
  sync_directory(place.folder);
}

void remove_manifest(const std::string& path) {
  if (remove_file(path)) return;
  const int error = errno;
  throw Error(Code::io, "cannot remove the old manifest").at(path).because_errno(error);
}

void remove_old_set(const SetPlace& place, const WorkFolder& work, const std::string& old) {
  remove_files(place, old);
  remove_manifest(old);
  sync_directory(work.root());
}

// The manifest that stands goes to the work folder.
void put_away(const SetPlace& place, const WorkFolder& work) {
  rename_file(join_path(place.folder, place.manifest), join_path(work.root(), kOldManifest));
  sync_directory(work.root());
  sync_directory(place.folder);
}

void put_back(const SetPlace& place, const WorkFolder& work) {
  const std::string old = join_path(work.root(), kOldManifest);
  if (!stands(old)) return;
  // Whoever has indexed the file in the meantime has replaced its lists, too.
  if (!rename_to_free_name(old, join_path(place.folder, place.manifest))) remove_file(old);
  sync_directory(place.folder);
}

// FILE has its name: its index follows.
bool finish_file(const SetPlace& place, const WorkFolder& work) {
  if (is_swapping(place, work)) {
    put_in_place(place, work);
    return true;
  }
  const std::string old = join_path(work.root(), kOldManifest);
  if (!stands(old)) return false;
  remove_old_set(place, work, old);
  return true;
}

// The manifest in the work folder is that of a set which was appended to: of the one that stands.
// Errors: Code::mismatch if that is another one by now.
bool is_behind(const SetPlace& place, const std::string& next) {
  if (!place.indexed_file.empty()) return false;
  DatasetPaths paths;
  paths.manifest = next;
  const Manifest manifest = read_manifest(paths);
  if (manifest.runs.empty()) return false;
  const std::string standing = join_path(place.folder, place.manifest);
  if (stands(standing) && self_hash_of(InputFile(standing)) == manifest.runs.back().after.hex())
    return true;
  throw Error(Code::mismatch, "is not the dataset that an interrupted --append was about to extend")
      .at(standing)
      .hint(fmt::format("put back the dataset.json that was there, or remove {} to drop what was "
                        "appended",
                        printable(join_path(place.folder, kWorkFolder))));
}

void move_to_free_name(const SetPlace& place, const WorkFolder& work, const std::string& name) {
  const std::string from = join_path(work.path(), name), to = join_path(place.folder, name);
  if (!stands(from)) return;  // moved before
  if (!rename_to_free_name(from, to)) throw not_ours(to);
}

bool is_one_file(const std::string& path, const std::string& other) {
  const auto facts = facts_at(path), others = facts_at(other);
  return facts && others && facts->st_dev == others->st_dev && facts->st_ino == others->st_ino;
}

// From now on readers may find the new set in the work folder. False: without hard links they
// cannot.
bool stays_whole(const WorkFolder& work, const std::string& next) {
  const std::string whole = join_path(work.path(), kWholeName);
  if (stands(whole)) return true;
  if (!link_file(next, whole)) return false;
  sync_directory(work.path());
  return true;
}

// The file has its name, and its place in the work folder.
void link_to_free_name(const SetPlace& place, const WorkFolder& work, const std::string& name) {
  const std::string from = join_path(work.path(), name), to = join_path(place.folder, name);
  if (is_one_file(from, to)) return;  // linked before
  if (stands(to)) throw not_ours(to);
  if (link_file(from, to)) return;
  (void)remove_file(join_path(work.path(), kWholeName));  // from now on it is not
  move_to_free_name(place, work, name);
}

// Errors: Code::exists if a name that the new files need belongs to somebody else.
void look_at_needed_names(const SetPlace& place, const WorkFolder& work, const std::string& next) {
  TakenNames taken(place);
  (void)visit_own_names(place, next, [&](const std::string& name) {
    const std::string from = join_path(work.path(), name), to = join_path(place.folder, name);
    if (stands(from) && stands(to) && !is_one_file(from, to)) taken.look_at(name);
  });
  taken.refuse();
}

// Parts get none: they are not datasets yet.
void put_readme_beside(const SetPlace& place, const WorkFolder& work, const Manifest& next) {
  const std::string name = fs::path(place.folder).filename().string();
  if (!place.indexed_file.empty() || part_of_name(name)) return;
  put_readme(place.folder, work.path(), next);
  settle_readme_of_splits(place.folder, work.path(), next);
}

// The files of the set that stands are not touched, but for those that a format's own readers want
// of the whole set: they are replaced.
void put_behind(const SetPlace& place, const WorkFolder& work, const std::string& next) {
  look_at_needed_names(place, work, next);
  const StandingSet standing(place);
  const Manifest joined = visit_own_names(place, next, [&](const std::string& name) {
    const std::string from = join_path(work.path(), name), to = join_path(place.folder, name);
    if (!stands(from)) return;
    if (stands(to) && standing.lists(name)) return rename_file(from, to);
    move_to_free_name(place, work, name);
  });
  put_readme_beside(place, work, joined);
  sync_directory(place.folder);
  rename_file(next, join_path(place.folder, place.manifest));
  sync_directory(place.folder);
}

}  // namespace

Error not_ours(const std::string& path) {
  return Error(Code::exists, "was not written by shale, but its name is needed")
      .at(path)
      .hint("move it away, or choose another output");
}

SetPlace SetPlace::of_dataset(const std::string& directory) {
  return {.folder = directory, .manifest = std::string(kManifestName)};
}

SetPlace SetPlace::of_file(const std::string& manifest_path, const std::string& name) {
  const fs::path path(manifest_path);
  const std::string folder = path.parent_path().string();
  return {.folder = folder.empty() ? "." : folder,
          .manifest = path.filename().string(),
          .indexed_file = name};
}

SetPlace SetPlace::beside_file(const std::string& path) {
  return of_file(DatasetPaths::of_file(path, "").manifest, fs::path(path).filename().string());
}

void refuse_foreign_files(const SetPlace& place, const std::vector<std::string>& suffixes) {
  TakenNames taken(place);
  if (!place.indexed_file.empty()) {
    for (const std::string& suffix : suffixes) {
      const std::string name = place.indexed_file + suffix;
      if (stands(join_path(place.folder, name))) taken.look_at(name);
    }
    return taken.refuse();
  }
  visit_names(place.folder, [&](const std::string& name) {
    const bool is_needed =
        is_list(name) ||
        (shard_of_file(name) && std::find(suffixes.begin(), suffixes.end(),
                                          name.substr(name.find('.'))) != suffixes.end());
    if (is_needed) taken.look_at(name);
    return true;
  });
  taken.refuse();
}

void put_in_place(const SetPlace& place, const WorkFolder& work) {
  const std::string old = join_path(work.root(), kOldManifest),
                    next = join_path(work.path(), place.manifest),
                    standing = join_path(place.folder, place.manifest);
  work.drop_journal();  // its shards are on their way: nobody may continue from it
  if (!stands(old)) {
    if (is_behind(place, next)) return put_behind(place, work, next);
    look_at_needed_names(place, work, next);
  }
  const bool is_whole = stays_whole(work, next);
  if (!stands(old) && stands(standing)) put_away(place, work);
  if (stands(old)) remove_old_set(place, work, old);
  const Manifest manifest = visit_own_names(place, next, [&](const std::string& name) {
    if (is_whole) return link_to_free_name(place, work, name);
    move_to_free_name(place, work, name);
  });
  put_readme_beside(place, work, manifest);
  sync_directory(place.folder);
  move_to_free_name(place, work, place.manifest);
  sync_directory(place.folder);
}

void remove_set(const SetPlace& place) {
  const std::string manifest = join_path(place.folder, place.manifest);
  remove_files(place, manifest);
  remove_manifest(manifest);
  sync_directory(place.folder);
  ::rmdir(place.folder.c_str());
}

bool is_swapping(const SetPlace& place, const WorkFolder& work) {
  return stands(join_path(work.path(), place.manifest));
}

bool is_swapping(const std::string& directory) {
  const std::string work = join_path(directory, kWorkFolder);
  return work_folder_at(work) == WorkFolderState::ours &&
         stands(join_path(join_path(work, WorkFolder::kNewName), kManifestName));
}

void put_file_in_place(const SetPlace& place, const WorkFolder& work,
                       const std::function<void()>& take_name) {
  if (is_swapping(place, work)) {
    refuse_foreign_files(place, {std::begin(kListSuffixes), std::end(kListSuffixes)});
  }
  const bool has_old = is_manifest(join_path(place.folder, place.manifest));
  if (is_swapping(place, work)) (void)stays_whole(work, join_path(work.path(), place.manifest));
  if (has_old) {
    (void)StandingSet(place);  // it can be read: what it lists can be removed
    put_away(place, work);
  }
  try {
    take_name();
  } catch (...) {
    put_back(place, work);
    throw;
  }
  (void)finish_file(place, work);
}

bool finish_swap(const SetPlace& place, const WorkFolder& work) {
  if (!place.indexed_file.empty()) {
    if (!stands(join_path(work.path(), place.indexed_file))) return finish_file(place, work);
    put_back(place, work);
    return false;
  }
  if (!is_swapping(place, work)) return false;
  put_in_place(place, work);
  return true;
}

}  // namespace shale
