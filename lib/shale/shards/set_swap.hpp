#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/shards/work_folder.hpp"

// How a new set takes the place of an old one, or of nothing. The new set is complete in the work
// folder before anything else changes; from then on what a kill interrupts is finished by the next
// command that writes here. A reader sees the old set or the new one; where the file system has no
// hard links, for a moment an unfinished one.

namespace shale {

/// Where a set stands.
struct SetPlace {
  std::string folder;
  std::string manifest;  ///< its file name
  /// FILE, if the set is no more than the index of a file of another tool.
  std::string indexed_file = {};

  [[nodiscard]] static SetPlace of_dataset(const std::string& directory);
  /// `manifest_path`: of FILE.dataset.json.
  [[nodiscard]] static SetPlace of_file(const std::string& manifest_path, const std::string& name);
  /// Of the index beside a file.
  [[nodiscard]] static SetPlace beside_file(const std::string& path);
};

/// The error for a file that has a needed name and does not belong to shale.
[[nodiscard]] Error not_ours(const std::string& path);

/// Refuses files that have names which the new set will need, and which the manifest that
/// stands there, proved by its self-hash, does not list: they are not shale's. `suffixes`: of the
/// files of a shard. Errors: Code::exists, naming the file; Code::exists for a manifest that is not
/// whole, since whose the files beside it are cannot be told; Code::unsupported.
void refuse_foreign_files(const SetPlace& place, const std::vector<std::string>& suffixes);

/// Puts the set in work.path(), whose manifest was written last, in its place: moves the old
/// manifest into the work folder, removes the files that it lists, moves the new ones, then the new
/// manifest. Nothing is replaced but by these steps. A set that was appended to (Manifest::runs)
/// continues the one that stands: its new files come to their names beside the old ones, and its
/// manifest, by one rename, in place of the old one. Errors: Code::mismatch if it continues another
/// set than the one that stands; same as above; Code::io. After an
/// error, or a kill, finish_swap() goes on.
void put_in_place(const SetPlace& place, const WorkFolder& work);

/// Removes the set at a place: the files that its manifest lists and that shale names,
/// then the manifest, and the folder if nothing else is in it. Errors: same as read_manifest;
/// Code::io.
void remove_set(const SetPlace& place);

/// True if the new set is complete and not in its place yet.
[[nodiscard]] bool is_swapping(const SetPlace& place, const WorkFolder& work);

/// The same by path, without the lock: of the dataset that stands, or stood, in a directory.
[[nodiscard]] bool is_swapping(const std::string& directory);

/// Gives a new file its name, and replaces the index next to the old one by that in the
/// work folder, or by nothing. `take_name` renames FILE from work.path(). A reader finds no index
/// beside a file that is not its own: it is away while the name changes, and is found by
/// paths_of_index. Errors: same as
/// put_in_place, and those of `take_name`: all is then as before. After a kill finish_swap() goes
/// on, or back.
void put_file_in_place(const SetPlace& place, const WorkFolder& work,
                       const std::function<void()>& take_name);

/// Finishes a swap that was interrupted, or undoes that of a file which had not got its name. False
/// if there was none to finish. Errors: same as put_in_place; Code::damaged if the new set's
/// manifest is.
bool finish_swap(const SetPlace& place, const WorkFolder& work);

}  // namespace shale
