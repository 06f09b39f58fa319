#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/manifest.hpp"
#include "shale/encoding/encode_batch.hpp"
#include "shale/io/output_file.hpp"
#include "shale/sources/input_request.hpp"
#include "shale/verify/verify_request.hpp"

namespace shale {

/// How many bad samples a run tolerates: a number, or a share of all samples (at least 10 are
/// always tolerated).
struct ErrorAllowance {
  bool is_share = true;
  double share = 0.01;
  std::uint64_t count = 0;
  [[nodiscard]] std::uint64_t limit(std::uint64_t samples) const;
};
/// "25" or "1%" or "0.5%". Errors: Code::usage.
[[nodiscard]] ErrorAllowance parse_error_allowance(std::string_view text);

/// A conversion as requested: plain data, nothing opened yet.
struct ConvertRequest : InputRequest {
  std::string format;
  std::uint64_t shard_bytes = std::uint64_t{1} << 30;
  std::uint64_t shard_samples = ~std::uint64_t{0};
  bool overwrite = false, verify = false, is_dry_run = false;
  IoMode io = IoMode::automatic;
  OnError on_error = OnError::skip;
  ErrorAllowance max_errors;
};

/// The result.
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

}  // namespace shale
