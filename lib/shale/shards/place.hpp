#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/io/file_stamp.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {

/// What is at a path where a dataset may be. A `dataset.json` or `.shale` that shale did not write
/// is not a dataset. Memory: none, however many entries there are.
enum class Place { absent, empty_folder, dataset, unfinished, other_folder, other_file };
[[nodiscard]] Place look_at(const std::string& path);

/// Where the index of a file is to be read: beside it or in `index_folder`; or, while it or the
/// file is replaced, in the work folder, where the manifest that goes has this name. Errors: same
/// as facts_at.
[[nodiscard]] DatasetPaths paths_of_index(const std::string& file, const std::string& index_folder);
inline constexpr std::string_view kOldManifest = "old.json";

/// Which dataset, or file with samples, is at a path, to notice that another one has taken its
/// place. A file that is written to is not replaced, but its index is.
class StandingState {
 public:
  explicit StandingState(std::string path);
  /// Of a directory.
  [[nodiscard]] const DatasetPaths& paths() const { return paths_; }
  [[nodiscard]] bool is_replaced() const;
  /// The error of whoever reads on. To be thrown.
  [[nodiscard]] Error replaced() const;

 private:
  struct Stamps {
    FileStamp manifest, index, file, data;
    explicit Stamps(const std::string& path, const DatasetPaths& paths);
  };

  std::string path_;
  DatasetPaths paths_;
  Stamps stamps_;
};

/// The manifest of a dataset where users find it: not in the work folder, where it may stand while
/// it takes the place of another one.
[[nodiscard]] std::string public_manifest(const std::string& manifest);

/// The error of a dataset that is not the one that was opened.
[[nodiscard]] Error replaced_dataset(const std::string& manifest);

/// What `open` returns, which gets the place of the files of the dataset in a directory; called
/// again if it throws because that set, or the file at `path`, was replaced.
template <class Open>
auto open_standing(const std::string& path, const Open& open) {
  while (true) {
    const StandingState state(path);
    try {
      return open(state.paths());
    } catch (const Error&) {
      if (!state.is_replaced()) throw;
    }
  }
}

/// True if look_at would say dataset or unfinished. False also for what cannot be looked at.
[[nodiscard]] bool holds_dataset(const std::string& folder);

/// A folder of shards that shale wrote: there are lists of theirs beside them.
[[nodiscard]] bool has_shards(const std::string& folder);

/// The names of the splits in a directory that holds a dataset, finished or not, of at least one:
/// train first. Empty for a dataset, and for any other path. Errors: same as look_at.
[[nodiscard]] std::vector<std::string> splits_in(const std::string& directory);

/// The names of the folders in a directory that hold parts: those of a split each. Errors:
/// Code::io.
[[nodiscard]] std::vector<std::string> splits_of_parts_in(const std::string& directory);
/// The error for a directory of splits, or of parts, where one dataset is needed; nullopt: it is
/// not one, or it cannot be looked at.
[[nodiscard]] std::optional<Error> several_datasets(const std::string& directory);

/// The error for a URL such as s3://bucket/set: nothing is read or written there yet. Nullopt for
/// any other path, "./s3://x" among them.
[[nodiscard]] std::optional<Error> url_error(std::string_view path);

/// The error for Place::absent.
[[nodiscard]] Error absent(const std::string& path);
/// What to say of a finished dataset with a run in its folder that is not finished, or under way,
/// such as an append; nullopt: there is none. Errors: same as look_at.
[[nodiscard]] std::optional<std::string> note_of_unfinished_run(const std::string& dataset);
/// The error for Place::unfinished where a finished dataset is needed.
[[nodiscard]] Error unfinished(const std::string& path);

}  // namespace shale
