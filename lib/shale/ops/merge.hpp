#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/data/manifest.hpp"

namespace shale {

/// Parts to be joined.
struct MergeRequest {
  std::vector<std::string> parts;  ///< as find_parts takes them
  std::string output;
  bool moves = false;   ///< the parts are removed when the result stands
  bool proves = false;  ///< the bytes of the parts are compared with their hashes first
};

struct MergeReport {
  Manifest manifest = {};
  std::uint64_t parts = 0;
  std::uint64_t file_bytes = 0;  ///< of all shards
  std::uint64_t linked_files = 0, copied_files = 0, copied_bytes = 0;
  bool was_complete = false;  ///< it had been merged before
};

/// Makes one dataset of all parts of a run: content and ordered digest are those of a run on one
/// machine. Costs O(shards): files are linked (hard links), so the parts stay as they are, and
/// payload is not read; where the file system cannot link, files are copied, and proved by their
/// hashes. Keys are compared, O(samples), only where the source does not guarantee that they are
/// unique. Stopped at any moment, the same call goes on; the parts are whole until the result is.
/// Errors: Code::mismatch, by name, for parts that are missing, unfinished, there twice, or of
/// another run; Code::damaged; Code::exists for an output that holds something else; Code::schema
/// for two samples with one key; Code::usage for an output that is a part or inside of one;
/// Code::io; Code::interrupted.
[[nodiscard]] MergeReport merge(const MergeRequest& request, const Events& events);
/// What merge() would do: it refuses what that would refuse, compares keys and, if asked, the bytes
/// of the parts, and writes nothing. No file is counted. Errors: same as merge.
[[nodiscard]] MergeReport plan_merge(const MergeRequest& request, const Events& events);

}  // namespace shale
