#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/native/tar_indexes.hpp"

namespace shale {

/// Tars that are one dataset: lists of all of them are written into the folder.
struct SetOfTars {
  std::string folder;
  std::vector<std::string> names;  ///< in the folder, "x.tar" or "part/x.tar": in this order
  std::string passed_over = {};    ///< of what in it is not indexed, the first name
  std::uint64_t passed_over_count = 0;
};

struct NativeIndexRequest {
  std::vector<SetOfTars> sets;
  std::vector<NativeKind> kinds;
  unsigned jobs = 1;
  bool is_only_planned = false;
};

struct NativeIndexReport {
  struct Index {
    NativeKind kind = NativeKind::wids;
    std::string path;                     ///< what its program is given: wids.json; the folder
    std::uint64_t written = 0, kept = 0;  ///< files; kept: as they were
  };
  std::vector<Index> indexes;  ///< of each folder, one of each kind
  std::uint64_t tars = 0, samples = 0;
  std::vector<std::string> notes;
};

/// The kinds in "wids,dali,energon". Errors: Code::usage.
[[nodiscard]] std::vector<NativeKind> parse_native_kinds(const std::string& text);

/// The tars that words name. A folder is one set, with the tars in all folders below it, in natural
/// order, as `energon prepare` takes it; hidden names do not count. Of tars, of a pattern and of
/// "@list" those of one folder are a set. Errors: Code::not_found for a folder without one; same as
/// walk_folder and files_of_any_kind.
[[nodiscard]] std::vector<SetOfTars> tars_of_words(const std::vector<std::string>& words);

/// Writes the indexes by which wids, DALI and Energon find the samples of tars, beside the tars:
/// wids.json; X.idx; X.tar.idx and .nv-meta/ with .info.json, split.yaml and, unless there is one,
/// dataset.yaml. Many tars at once; each file gets its name when it is complete; what an earlier
/// run wrote for a tar that has not changed is kept (NativeJournal). Memory: some MiB per job; for
/// wids about 40 bytes per member of a tar. Errors: Code::unsupported, by name, for what an index
/// cannot hold (nothing of this tar is written then, and no file about all); Code::exists for a
/// file with other content that shale did not write; those of walk_tars.
NativeIndexReport write_native_indexes(const NativeIndexRequest& request, const Events& events);

}  // namespace shale
