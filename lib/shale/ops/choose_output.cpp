#include "shale/ops/choose_output.hpp"

#include "shale/base/printable.hpp"
#include "shale/format/format.hpp"
#include "shale/shards/place.hpp"

namespace shale {
namespace {

void refuse_shards(const OutputOptions& options, const std::string& output, const Format& format) {
  if (options.format && &format_named(*options.format) != &format) {
    throw Error(Code::usage, "--to {} for an output that is one {} file by its name",
                printable(*options.format), format.name)
        .at(output)
        .hint("leave out --to, or choose an output with another suffix, or with none for shards");
  }
  if (options.shard_bytes) throw does_nothing_for_file("shard-size", output);
  if (options.shard_samples) throw does_nothing_for_file("shard-samples", output);
}

}  // namespace

void refuse_stream(const std::string& output) {
  if (const std::optional<Error> error = url_error(output)) throw *error;
  if (output != "-") return;
  throw Error(Code::usage, "'-' as output is not supported: no format is written to a stream")
      .hint(
          "name a directory, or a file ending in .npy, .lmdb, .h5 or .tfrecord; for a directory "
          "named '-' write './-'");
}

void choose_output(ConvertRequest& request, const OutputOptions& options) {
  refuse_stream(request.output);
  if (const Format* const format = format_of_output(request.output)) {
    refuse_shards(options, request.output, *format);
    request.format = format->name;
  } else {
    // format_named("") lists the formats: the chooser.
    request.format = format_named(options.format.value_or("")).name;
    if (options.with_index) {
      throw Error(Code::usage,
                  "--with-index is for an output that is one file; shards always have one")
          .at(request.output)
          .hint("leave it out");
    }
  }
  request.with_index = options.with_index;
  if (options.shard_samples == std::uint64_t{0})
    throw Error(Code::usage, "--shard-samples 0: a shard holds at least one sample");
  request.shard_bytes = options.shard_bytes.value_or(request.shard_bytes);
  request.shard_samples = options.shard_samples.value_or(request.shard_samples);
}

Error does_nothing_for_file(std::string_view option, const std::string& output) {
  return Error(Code::usage, "--{} has no effect on an output that is one {}", option,
               is_array_name(output) ? ".npy array" : "file")
      .at(output)
      .hint("leave it out, or choose an output directory and pass --to");
}

}  // namespace shale
