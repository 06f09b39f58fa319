#include "shale/ops/choose_output.hpp"

#include "shale/base/printable.hpp"
#include "shale/format/format.hpp"
#include "shale/shards/place.hpp"

namespace shale {
namespace {

constexpr std::string_view kNpy = "npy";

void refuse_shards(const OutputOptions& options, const std::string& output) {
  if (options.format && *options.format != kNpy) {
    throw Error(Code::usage, "--to {} for an output that is one .npy array",
                printable(*options.format))
        .at(output)
        .hint("leave out --to, or choose an output directory whose name does not end in .npy");
  }
  if (options.shard_bytes) throw does_nothing_for_array("shard-size", output);
  if (options.shard_samples) throw does_nothing_for_array("shard-samples", output);
}

}  // namespace

void refuse_stream(const std::string& output) {
  if (const std::optional<Error> error = url_error(output)) throw *error;
  if (output != "-") return;
  throw Error(Code::usage, "'-' as output is not supported: no format is written to a stream")
      .hint("name a directory, or a file ending in .npy; for a directory named '-' write './-'");
}

void choose_output(ConvertRequest& request, const OutputOptions& options) {
  refuse_stream(request.output);
  if (is_array_name(request.output)) {
    refuse_shards(options, request.output);
  } else {
    // format_named("") lists the formats: the chooser.
    request.format = format_named(options.format.value_or("")).name;
  }
  if (options.shard_samples == std::uint64_t{0})
    throw Error(Code::usage, "--shard-samples 0: a shard holds at least one sample");
  request.shard_bytes = options.shard_bytes.value_or(request.shard_bytes);
  request.shard_samples = options.shard_samples.value_or(request.shard_samples);
}

Error does_nothing_for_array(std::string_view option, const std::string& output) {
  return Error(Code::usage, "--{} has no effect on an output that is one .npy array", option)
      .at(output)
      .hint("leave it out, or choose an output directory and pass --to npy");
}

}  // namespace shale
