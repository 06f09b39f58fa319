#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/format/options.hpp"
#include "shale/io/output_file.hpp"
#include "shale/ops/events.hpp"
#include "shale/ops/folder_source.hpp"
#include "shale/ops/make_draw.hpp"
#include "shale/ops/verify.hpp"

namespace shale {

/// What to do with a sample whose content is bad (empty, no image, cut). Storage faults always stop
/// the run.
enum class OnError { skip, keep, fail };

/// How many bad samples a run endures: a number, or a share of all samples (of which at least 10
/// are endured).
struct ErrorAllowance {
  bool is_share = true;
  double share = 0.01;
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t limit(std::uint64_t samples) const;
};
/// "25" or "1%" or "0.5%". Errors: Code::usage.
[[nodiscard]] ErrorAllowance parse_error_allowance(std::string_view text);

/// A conversion as it was asked for: plain data, nothing opened yet.
struct ConvertRequest {
  std::vector<std::string> inputs;
  std::vector<std::string>
      fields;  ///< of a dataset or of arrays: only these, in this order; empty: all
  std::string output, format, generator;
  std::uint64_t shard_bytes = std::uint64_t{1} << 30;
  std::uint64_t shard_samples = ~std::uint64_t{0};
  std::string labels_file, classes_from;
  std::string index_folder;        ///< of an input file of another tool
  std::optional<Dialect> dialect;  ///< how its values are read; nullopt: as its index says
  HiddenPolicy hidden = HiddenPolicy::unset;
  bool allow_empty = false, is_shuffled = false, overwrite = false, verify = false,
       is_dry_run = false;
  std::uint64_t seed = 0;  ///< of is_shuffled
  /// The rows of an input of fixed rows that are taken, and their order; nullopt: all.
  std::optional<DrawRequest> draw = {};
  std::string scratch_folder;  ///< for rows that are put in order; empty: where the output is
  unsigned jobs = 1;
  std::uint64_t memory_bytes = 256 << 20;
  IoMode io = IoMode::automatic;
  OnError on_error = OnError::skip;
  ErrorAllowance max_errors;
};

/// What came of it.
struct ConvertReport {
  Manifest manifest;
  std::uint64_t file_bytes = 0;  ///< of all shards, with their indexes
  bool was_complete = false;     ///< the output was finished before: nothing was done
  bool was_compared =
      false;  ///< and the input is newer or another file: its content was found to be the same
  bool is_one_array = false;  ///< the output is an .npy file, not a dataset
  bool is_plan = false;  ///< --dry-run: nothing was written; shard_count is computed from sizes
  std::vector<std::string> notes;
  std::uint64_t skipped = 0;  ///< by this run; manifest.skipped counts those before it too
  std::vector<std::string> first_skipped;  ///< "key: reason", at most 10
  bool was_verified = false;
  VerifyReport verification;
};

/// True for the name of an output that is one array: it ends in .npy.
[[nodiscard]] inline bool is_array_name(std::string_view output) {
  return output.ends_with(".npy");
}

/// Converts an input into a dataset of shards at `request.output`, or into one array if it
/// is_array_name(). The result depends on input and
/// options only, never on jobs, memory, machine or working directory. Killed at any moment it
/// leaves no manifest and only whole files under final names; run again, it clears that and
/// finishes the job. Memory: request.memory_bytes, whatever the number of samples. Errors: every
/// Code; the first in input order wins.
[[nodiscard]] ConvertReport convert(const ConvertRequest& request, const Events& events);

}  // namespace shale
