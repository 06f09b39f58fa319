#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shale/datasets/open_dataset.hpp"
#include "shale/format/source.hpp"
#include "shale/verify/compared_sides.hpp"
#include "shale/verify/verify_log.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// A dataset, and how it is compared with a source.
struct ComparedSamples {
  const VerifyRequest& request;
  const OpenedDataset& dataset;
  const std::string& against;  ///< the source, for messages
  JoinedBy joined_by = JoinedBy::key;
  bool compares_labels = true;  ///< where samples are joined by key
  /// The image work that the dataset records is done to the source: it is not a copy.
  bool does_image_work = true;
  /// Fields that only the source has, which are not compared.
  std::vector<std::string> fields_besides = {};
  bool has_other_order_of_fields =
      false;  ///< of the source, before it was put into that of the set
};

/// By its key, or by its content: what the samples of a dataset are found by in a source.
[[nodiscard]] JoinedBy joined_by(const Manifest& dataset, bool source_has_keys);

/// The memory that a stream of files may take, out of that of the request.
[[nodiscard]] constexpr std::uint64_t memory_beside_keys(std::uint64_t memory_bytes) {
  return memory_bytes / 4 * 3;
}

/// Compares each sample of a source with the one of the dataset that has its key, or its content.
/// Both sides are read and encoded as a conversion would, each once and in its own order, image
/// work included; what is left of a sample is the hash of its values, and by key the length and
/// crc32c of each. Sorted on disk, both lists are joined: the hashes decide, lengths and checksums
/// name the field. Fields that the source does not have are not compared. The report of `log` gets
/// the verdict. Errors: those of the source; Code::mismatch for fields that do not fit;
/// Code::damaged for a dataset that cannot be read; Code::io.
void compare_samples(Source& source, const ComparedSamples& compared, VerifyLog& log);

}  // namespace shale
