#include "shale/ops/choose_output.hpp"

#include <filesystem>

#include "shale/base/printable.hpp"
#include "shale/format/format.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/shard_bounds.hpp"

namespace shale {
namespace {

constexpr std::string_view kArchive = "npz";

// The name of the format is its suffix, or another name of it.
bool agrees(const std::string& chosen, const std::string& output, const Format& format) {
  if (is_archive_name(output)) return chosen == kArchive;
  return &format_named(chosen) == &format;
}

void refuse_shards(const OutputOptions& options, const std::string& output, const Format& format) {
  if (options.is_append) {
    throw Error(Code::usage, "--append: an output that is one file cannot be appended to")
        .at(output)
        .hint("convert to a directory of shards, and append to that");
  }
  if (options.format && !agrees(*options.format, output, format)) {
    throw Error(Code::usage, "--to {} for an output that is one {} file by its name",
                printable(*options.format), is_archive_name(output) ? kArchive : format.name)
        .at(output)
        .hint("leave out --to, or choose an output with another suffix, or with none for shards");
  }
  if (options.shard_bytes) throw does_nothing_for_file("shard-size", output);
  if (options.shard_samples) throw does_nothing_for_file("shard-samples", output);
  if (options.with_index && is_archive_name(output)) {
    throw Error(Code::usage, "--with-index: an .npz archive has no index; NumPy reads it as it is")
        .at(output)
        .hint("leave it out");
  }
}

bool is_deflate(const OutputOptions& options, const std::string& output) {
  if (!options.compression) return false;
  if (!is_archive_name(output)) {
    throw Error(Code::usage, "--compress is for .npz outputs: all others are read in place")
        .at(output)
        .hint("leave it out");
  }
  if (*options.compression == "deflate") return true;
  if (*options.compression == "none") return false;
  throw Error(Code::usage, "--compress '{}' is neither none nor deflate",
              printable(*options.compression));
}

// One LMDB directory per class.
constexpr std::string_view kByClass = "lsun";

void refuse_unfit_classes(ConvertRequest& request, const OutputOptions& options) {
  if (request.format != "lmdb" || format_of_output(request.output) != nullptr) {
    throw Error(Code::usage, "--layout {}: it is a directory with an LMDB directory per class",
                kByClass)
        .at(request.output)
        .hint("choose an output without a suffix, and leave out --to");
  }
  const std::string_view option = request.verify          ? "--verify"
                                  : options.is_append     ? "--append"
                                  : options.shard_bytes   ? "--shard-size"
                                  : options.shard_samples ? "--shard-samples"
                                                          : "";
  if (!option.empty()) throw does_nothing_by_class(option, request.output);
  request.shard_bytes = kAnySize;
}

void refuse_unfit_layout(ConvertRequest& request, const OutputOptions& options) {
  if (request.layout.empty()) return;
  if (request.layout == kByClass) return refuse_unfit_classes(request, options);
  const bool is_flat = request.layout == "flat";
  const bool is_hdf5 = is_flat || request.layout == "vlen" || request.layout == "fixed";
  const bool is_one_file = format_of_output(request.output) != nullptr;
  if (request.format != (is_hdf5 ? "hdf5" : "lmdb") || (!is_one_file && !is_flat)) {
    throw Error(Code::usage, "--layout {}: it is a layout of one {} file", request.layout,
                is_hdf5 ? "HDF5" : "LMDB")
        .at(request.output)
        .hint(is_hdf5 ? "choose an output that ends in .h5, or in .hdf5"
                      : "choose an output that ends in .lmdb, or in .mdb");
  }
  if (is_flat) return request.layout.clear();  // what hdf5 is without it
  if (request.with_index || request.verify) {
    throw Error(Code::usage, "--layout {} with {}: such a file is written without an index",
                request.layout, request.with_index ? "--with-index" : "--verify")
        .at(request.output)
        .hint(
            "leave it out; 'shale index --crc' and 'shale verify' are for it as for any file of "
            "another tool");
  }
}

// A directory with a file per list of a split, which is not a dataset.
void choose_directory_of_files(ConvertRequest& request, const OutputOptions& options) {
  if (format_of_output(request.output) != nullptr) {
    throw Error(Code::usage, "--layout {}: its output is a directory, with a file per list",
                kCoclrK400)
        .at(request.output)
        .hint("choose a name without a suffix");
  }
  request.format = "lmdb";
  const bool is_other = options.format && format_named(*options.format).name != request.format;
  const std::string_view idle = is_other                ? "to"
                                : options.shard_bytes   ? "shard-size"
                                : options.shard_samples ? "shard-samples"
                                : options.compression   ? "compress"
                                : options.is_append     ? "append"
                                : options.with_index    ? "with-index"
                                : request.verify        ? "verify"
                                                        : "";
  if (!idle.empty()) {
    throw Error(Code::usage, "--{} does not go with --layout {}: it writes whole LMDB files", idle,
                kCoclrK400)
        .at(request.output)
        .hint("leave it out");
  }
  request.layout = kCoclrK400;
}

// A suffix such as .ldb or .LMDB was meant to choose a format.
void refuse_unknown_suffix(const std::string& output) {
  const std::string suffix = std::filesystem::path(output).extension().string();
  if (suffix.empty()) return;
  throw Error(Code::usage, "no format was chosen, and none has the suffix {}", printable(suffix))
      .at(output)
      .hint(
          "for one file end the name in .npy, .npz, .lmdb, .h5, .hdf5, .tfrecord, .pt or "
          ".safetensors; for a directory of shards choose one of 'shale formats' with --to");
}

}  // namespace

void refuse_stream(const std::string& output) {
  if (const std::optional<Error> error = url_error(output)) throw *error;
  if (output != "-") return;
  throw Error(Code::usage, "'-' as output is not supported: no format is written to a stream")
      .hint(
          "name a directory, or a file ending in .npy, .npz, .lmdb, .h5, .tfrecord, .pt or "
          ".safetensors; for a directory named '-' write './-'");
}

void refuse_idle_seed(const ConvertRequest& request, bool is_given) {
  const bool has_shares = !request.split.is_empty() && !request.split.has_files();
  if (!is_given || request.order.is_shuffled || has_shares) return;
  throw Error(Code::usage, "--seed has no effect without --shuffle, or shares in --split");
}

void choose_output(ConvertRequest& request, const OutputOptions& options) {
  refuse_stream(request.output);
  if (options.layout == kCoclrK400) return choose_directory_of_files(request, options);
  if (const Format* const format = format_of_output(request.output)) {
    refuse_shards(options, request.output, *format);
    request.format = format->name;
  } else {
    if (options.format == kArchive) {
      throw Error(Code::usage, "--to npz: an archive is one file, and '{}' would be a directory",
                  printable(request.output))
          .hint("choose an output that ends in .npz; shards of arrays are --to npy");
    }
    OutputOptions chosen = options;
    if (options.layout == kByClass && !options.format) chosen.format = "lmdb";
    const bool is_given = chosen.format || !options.is_append;
    if (!chosen.format && is_given) refuse_unknown_suffix(request.output);
    // format_named("") lists the formats: the chooser.
    request.format = is_given ? format_named(chosen.format.value_or("")).name : std::string();
    if (options.with_index) {
      throw Error(Code::usage,
                  "--with-index is for an output that is one file; shards always have one")
          .at(request.output)
          .hint("leave it out");
    }
  }
  request.with_index = options.with_index;
  request.is_deflated = is_deflate(options, request.output);
  if (options.shard_samples == std::uint64_t{0})
    throw Error(Code::usage, "--shard-samples 0: a shard holds at least one sample");
  request.is_append = options.is_append;
  request.layout = options.layout.value_or("");
  refuse_unfit_layout(request, options);
  if (options.is_append) request.shard_bytes = request.shard_samples = 0;  // as the dataset has it
  request.shard_bytes = options.shard_bytes.value_or(request.shard_bytes);
  request.shard_samples = options.shard_samples.value_or(request.shard_samples);
}

Error does_nothing_by_class(std::string_view option, const std::string& output) {
  return Error(Code::usage, "--layout {} with {}: each class is one file, written without an index",
               kByClass, option)
      .at(output)
      .hint("leave it out");
}

Error does_nothing_for_file(std::string_view option, const std::string& output) {
  return Error(Code::usage, "--{} has no effect on an output that is one {}", option,
               is_array_name(output) ? ".npy array" : "file")
      .at(output)
      .hint("leave it out, or choose an output directory and pass --to");
}

}  // namespace shale
