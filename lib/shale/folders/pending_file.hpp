#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "shale/folders/file_pairs.hpp"
#include "shale/folders/stored_listing.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// What is the same for all files of a list.
struct ListedFolder {
  const std::string& root;
  const std::string& labels_file;
  const std::string& pairs;     ///< suffixes of the partners
  std::size_t fields = 0;       ///< the file, its label if it has one, its partners
  bool has_labels = true;       ///< there is a field for labels
  bool compares_times = false;  ///< the list was made by a run before
  std::shared_ptr<const ArchiveFile> archive = nullptr;  ///< that all of its files lie in
  std::vector<NamedFolder> folders = {};  ///< that the partners lie in, behind `root`; or none
  /// The last fields, which come from rows of metadata; null: there are no such rows.
  const std::vector<Field>* metadata = nullptr;
};

/// A listed file, and its partners, as a sample that is still to be read.
[[nodiscard]] PendingSample pending_sample(ListedFile file, const ListedFolder& folder);

}  // namespace shale
