#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "shale/base/events.hpp"
#include "shale/base/finding.hpp"
#include "shale/sums/sum_list.hpp"

namespace shale {

/// Files whose checksums are computed: those of a dataset of shale's, those of a folder at any
/// depth, hidden ones and all, or one file.
struct SumsRequest {
  std::string path;
  unsigned jobs = 1;
  std::uint64_t memory_bytes = 256 << 20;
};

struct SumsReport {
  std::uint64_t files = 0, bytes = 0;                        ///< that were read
  std::uint64_t missing = 0, different = 0, additional = 0;  ///< each a finding
  [[nodiscard]] std::uint64_t findings() const { return missing + different + additional; }
};

/// Compares each file with a list: those that are missing, those that differ, those that the list
/// does not have (but for the file `list_path`) are findings, in the order of their names. Names in
/// the list are relative to the folder, or to that of a single file. Errors: Code::not_found;
/// Code::io; Code::interrupted.
[[nodiscard]] SumsReport compare_sums(const SumsRequest& request, const SumList& list,
                                      const std::string& list_path, const FindingSink& sink,
                                      const Events& events);

/// Gives the lines of `sha256sum` for the files, names relative to the dataset, the folder, or that
/// of a single file. Each file of a dataset is compared with what the manifest says of it in the
/// same pass: one that is not as it was written is a finding, and has no line. Errors: same;
/// Code::mismatch for an unfinished dataset; Code::damaged for its manifest.
[[nodiscard]] SumsReport export_sums(const SumsRequest& request, DigestKind kind,
                                     const std::function<void(const std::string& line)>& use,
                                     const FindingSink& sink, const Events& events);

}  // namespace shale
