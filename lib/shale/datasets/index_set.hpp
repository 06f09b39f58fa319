#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"
#include "shale/datasets/file_set.hpp"
#include "shale/datasets/opened_dataset.hpp"

namespace shale {

/// A set of files of another tool that is to have one index (set_index.hpp).
struct SetIndexRequest {
  std::string path = {};  ///< the set: a folder, a pattern, a list; empty: several files
  std::vector<SetMember> files = {};  ///< in their order
  std::string index_folder = {};      ///< empty: in the folder that is the set
  Parsing parsing = {};               ///< nothing: as the index that stands, else as is recognized
  bool with_checksums = false;        ///< reads the payload; an index that has checksums keeps them
  std::string generator = {};
  std::uint64_t memory_bytes = 256 << 20;
  unsigned jobs = 1;
};

/// Errors: Code::usage and Code::exists, as index_set.
void refuse_place_of_index(const SetIndexRequest& request);

struct IndexedSet {
  Manifest manifest;
  std::string index;  ///< path of its manifest
  std::vector<std::string> notes;
  std::uint64_t indexed = 0, kept = 0, gone = 0;  ///< files
};

/// Indexes the files of a set that are new or have changed, and keeps what the index before,
/// or a run that was interrupted, has of the others. Nothing is replaced before all is done: the
/// manifest is renamed last. Memory: a window and a sample per job, and some 2 KiB per file.
/// Errors: Code::usage for a set without a folder and no `index_folder`; Code::exists for what
/// has its name and is not shale's; same as index_file, with the file's name.
[[nodiscard]] IndexedSet index_set(const SetIndexRequest& request, const Events& events);

/// The set that is asked for, by the index in its `index_folder`, which is made first where it is
/// missing or is not what the files are by now. Waits for another process that makes it. Errors:
/// same as index_set and open_dataset.
[[nodiscard]] OpenedDataset open_and_index_set(const DatasetRequest& request, const Events& events);

}  // namespace shale
