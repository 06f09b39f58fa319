#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/ops/convert_request.hpp"

namespace shale {

/// What was said of an output besides its name; nullopt: nothing.
struct OutputOptions {
  std::optional<std::string> format = {};
  std::optional<std::uint64_t> shard_bytes = {}, shard_samples = {};
};

/// Puts format and bounds of the shards of `request.output` into the request. Errors: Code::usage
/// for options of shards, or another format than npy, where the output is one array; for an output
/// of shards without a format, or one that nobody knows; for shards of no samples; same as
/// refuse_stream.
void choose_output(ConvertRequest& request, const OutputOptions& options);

/// Errors: Code::usage for '-', which stands for a stream.
void refuse_stream(const std::string& output);

/// The error for an option that would do nothing, as the output is one array.
[[nodiscard]] Error does_nothing_for_array(std::string_view option, const std::string& output);

}  // namespace shale
