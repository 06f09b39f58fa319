#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/manifest.hpp"

// Folders as Hugging Face's tools leave them: a repository of the hub, with its files beside a
// README or in `data`, and what Dataset.save_to_disk writes.

namespace shale {

/// A word in the name of a file, or the name of a folder, that says of which split it is, as
/// `datasets.load_dataset` has it.
struct SplitWord {
  std::string_view word, split;
};
inline constexpr SplitWord kSplitWords[] = {{"train", "train"},
                                            {"test", "test"},
                                            {"val", "val"},
                                            {"valid", "valid"},
                                            {"validation", "validation"},
                                            {"training", "train"},
                                            {"testing", "test"},
                                            {"dev", "validation"},
                                            {"eval", "test"},
                                            {"evaluation", "test"}};

/// The folder that has the files: of what the cache of the hub has of a repository the snapshot; of
/// one that has nothing else but text beside `data` that; else the folder itself.
[[nodiscard]] std::string folder_of_files(const std::string& folder);

/// The Parquet files of one split of a repository.
struct HubSplit {
  std::string name;
  std::vector<std::string> files;  ///< in the folder, in natural order
};

/// The splits of a repository, as `datasets.load_dataset` has them: those that the YAML of its
/// README.md names under `configs`; else those that files in `data` are named after
/// ("train_sft-00000-of-00003.parquet"); else folders that are named after splits, or
/// those in its only folder. Empty: none of these says it. Reads names, and the README. Errors:
/// Code::unsupported for YAML that cannot be read, for a name that no split can have, for files
/// that it names and that are not there, and for several configurations, or folders of files, of
/// which none is the default.
[[nodiscard]] std::vector<HubSplit> splits_of_hub(const std::string& folder);

/// What the YAML of a README.md, beside a Parquet file or up to two folders above, says of its
/// fields: the names of the classes go to `manifest` if the file itself has none, and those of
/// other fields than `label` to what is left out.
void add_hub_classes(Manifest& manifest, const std::string& file);

/// The error for a folder that `datasets` saved as Arrow files, which are not read, with the
/// command that exports it; nullopt for any other.
[[nodiscard]] std::optional<Error> saved_as_arrow(const std::string& folder);

}  // namespace shale
