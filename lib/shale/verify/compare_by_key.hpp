#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/base/finding.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/format/source.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// A dataset, and how it is compared with the files that it was made from.
struct ComparedByKey {
  const VerifyRequest& request;
  const OpenedDataset& dataset;
  const std::string& against;  ///< the source, for messages
  bool compares_labels = true;
};

struct ComparedKeys {
  std::uint64_t left_out = 0;  ///< samples of the source that a dataset of chosen samples left out
  /// Labels of a stream that were not compared: neither side has names for them.
  bool has_unknown_labels = false;
};

/// The memory that a stream of files may take, out of that of the request.
[[nodiscard]] constexpr std::uint64_t memory_beside_keys(std::uint64_t memory_bytes) {
  return memory_bytes / 4 * 3;
}

/// Compares each sample of a source of files with the one of the dataset that has its key. Both
/// sides are read and encoded as a conversion would, each once and in its own order, image work
/// included; what is left of a sample is the hash of its values, and the length and crc32c of each.
/// Sorted by key on disk, both lists are joined: the hashes decide, lengths and checksums name the
/// field. Fields that the source does not have are not compared. Errors: those of the source;
/// Code::mismatch for fields that do not fit; Code::damaged for a dataset that cannot be read;
/// Code::io.
[[nodiscard]] ComparedKeys compare_by_key(Source& source, const ComparedByKey& compared,
                                          const FindingSink& sink, const Events& events,
                                          std::vector<std::string>& notes);

}  // namespace shale
