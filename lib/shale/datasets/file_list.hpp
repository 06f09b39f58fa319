#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shale/datasets/open_dataset.hpp"

// A text file that lists files of another tool is one dataset: their rows, one file after the other
// (docs/foreign.md).

namespace shale {

struct SetMember {
  std::string name;  ///< as the list has it
  std::string path;
};

/// The files that a list names, in its order, a file named twice twice; nullopt: the file at `path`
/// is not such a list. A name is looked for in the folder of the list and in the current directory.
/// Errors: Code::not_found for a name that is in neither; Code::usage for one that is a different
/// file in each; Code::unsupported for one that is not a regular file; same as Format::list_files.
[[nodiscard]] std::optional<std::vector<SetMember>> files_of_list(const std::string& path);

/// The files of a list as one dataset, a shard each. All must have the fields of the first, in rows
/// of one size.
class ListedDataset {
 public:
  explicit ListedDataset(std::string list) : list_(std::move(list)) {}

  /// True for a file whose rows can be found as those of a list must be.
  [[nodiscard]] static bool has_fitting_rows(const OpenedDataset& file);
  /// Errors: Code::unsupported, by file and field, for one that differs from the first, or has no
  /// rows that fit.
  void add(const SetMember& listed, const OpenedDataset& file);
  /// Of one file at least.
  [[nodiscard]] OpenedDataset finish() &&;

 private:
  static constexpr std::size_t kMostNotes = 20;
  void refuse_other_fields(const SetMember& listed, const Schema& schema) const;

  std::string list_;
  std::string first_name_, fingerprints_;
  Manifest manifest_;
  std::vector<ManifestShard> shards_;
  std::vector<FileFingerprint> states_;
  std::vector<std::string> notes_;
  std::vector<std::shared_ptr<const void>> kept_;
};

}  // namespace shale
