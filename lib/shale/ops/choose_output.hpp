#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/targets/convert_request.hpp"

namespace shale {

/// What was said of an output besides its name; nullopt: nothing.
struct OutputOptions {
  std::optional<std::string> format = {};
  std::optional<std::uint64_t> shard_bytes = {}, shard_samples = {};
  std::optional<std::string> compression = {};  ///< "none" or "deflate"
  bool with_index = false;
  std::optional<std::string> layout = {};
  bool is_append = false;  ///< format and bounds that are not given are those of the dataset
};

/// Puts format, bounds of the shards and the rest into the request, as the name of `request.output`
/// has it: one file, or a directory of shards. Errors: Code::usage for options of shards, or
/// another format than that of its suffix, where the output is one file; for an output of shards
/// without a format, or one that nobody knows; for compression of anything but an .npz archive; for
/// shards of no samples, or with_index, which they have; same as refuse_stream and
/// format_of_output.
void choose_output(ConvertRequest& request, const OutputOptions& options);

/// Errors: Code::usage for a seed that was given, and would do nothing.
void refuse_idle_seed(const ConvertRequest& request, bool is_given);

/// Errors: Code::usage for '-', which stands for a stream; Code::unsupported for a URL.
void refuse_stream(const std::string& output);

/// The error for an option that would do nothing, as the output is a file per class.
[[nodiscard]] Error does_nothing_by_class(std::string_view option, const std::string& output);

/// The error for an option that would do nothing, as the output is one file.
[[nodiscard]] Error does_nothing_for_file(std::string_view option, const std::string& output);

}  // namespace shale
