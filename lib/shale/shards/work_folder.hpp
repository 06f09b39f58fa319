#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "shale/data/manifest.hpp"

namespace shale {

/// OUT/.shale: what a run in progress keeps beside its shards. Its journal says which command the
/// run belongs to and which shards are whole, a line each, fsynced; a later version continues from
/// it, this one clears the run and starts again. Holds an exclusive lock (flock) as long as it
/// lives, where the file system has locks.
class WorkFolder {
 public:
  /// Makes the folder and takes the lock. Errors: Code::exists if another process works here;
  /// Code::io.
  explicit WorkFolder(const std::string& directory);
  ~WorkFolder();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// What the run before left: the description of its command, empty if there was none or it had
  /// not got that far.
  [[nodiscard]] std::string previous_request() const;
  /// True if shards stand in the directory under their final names.
  [[nodiscard]] bool holds_shards() const;
  /// Removes every file of the unfinished run: temporary ones, and shards under their final names.
  void clear_previous_run();

  /// Begins a journal with the description of the command. Errors: Code::io.
  void begin(std::string_view request);
  void add_shard(const ManifestShard& shard);
  void for_each_shard(const std::function<void(const ManifestShard&)>& visit) const;

  /// Removes the shard files that were being written, to free their space; the journal stays. Never
  /// throws.
  void drop_temporary_files() noexcept;
  /// Removes the folder: the set is complete.
  void remove();
  /// Leaves no trace of a run that did not begin: removes the folder, and the directory if it was
  /// made here. Never throws.
  void abandon() noexcept;

 private:
  std::string directory_, path_;
  int lock_ = -1, journal_ = -1;
  bool made_directory_ = false;
};

/// Removes the files of a finished dataset, manifest first, and nothing else.
void remove_dataset(const std::string& directory);

}  // namespace shale
