#include "shale/requests/choose_output.hpp"

#include <algorithm>
#include <filesystem>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/format/format.hpp"
#include "shale/format/layout.hpp"
#include "shale/format/row_groups.hpp"
#include "shale/requests/combinations.hpp"
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

bool is_deflate(const OutputOptions& options) {
  if (!options.compression || *options.compression == "none") return false;
  if (*options.compression == "deflate") return true;
  throw Error(Code::usage, "--compress '{}' is neither none nor deflate",
              printable(*options.compression));
}

// The file in a directory of such a layout, without a directory of its class.
bool is_one_file_of(const Layout* layout, const std::string& output) {
  return layout != nullptr && !layout->one_file_layout.empty() &&
         std::filesystem::path(output).filename() == layout->data_name;
}

void refuse_misplaced(const ConvertRequest& request, const FormatLayout& chosen) {
  const Layout& layout = *chosen.layout;
  const bool is_one_file = format_of_output(request.output) != nullptr;
  const bool is_of_format = request.format == chosen.format->name;
  const auto misplaced = [&](const std::string& what, std::string_view hint) {
    return Error(Code::usage, "--layout {}: {}", layout.name, what).at(request.output).hint(hint);
  };
  switch (layout.writes) {
    case Layout::Writes::anything:
    case Layout::Writes::file:
      if (is_of_format && (is_one_file || layout.writes == Layout::Writes::anything)) return;
      throw misplaced(fmt::format("it is a layout of one {} file", layout.container),
                      layout.suffix_hint);
    case Layout::Writes::class_files:
      if (is_of_format && !is_one_file) return;
      throw misplaced(
          fmt::format("it is a directory with an {} directory per class", layout.container),
          "choose an output without a suffix, and leave out --to");
    case Layout::Writes::list_files:
      if (!is_one_file) return;
      throw misplaced("its output is a directory, with a file per list",
                      "choose a name without a suffix");
  }
}

std::string format_of_shards(const std::string& output, const OutputOptions& options) {
  if (options.format == kArchive) {
    throw Error(Code::usage, "--to npz: an archive is one file, and '{}' would be a directory",
                printable(output))
        .hint("choose an output that ends in .npz; shards of arrays are --to npy");
  }
  if (!options.format && options.is_append) return {};
  // A suffix such as .ldb or .LMDB was meant to choose a format.
  const std::string suffix = std::filesystem::path(output).extension().string();
  if (!options.format && !suffix.empty()) {
    throw Error(Code::usage, "no format was chosen, and none has the suffix {}", printable(suffix))
        .at(output)
        .hint(
            "for one file end the name in .npy, .npz, .lmdb, .h5, .hdf5, .tfrecord, .tar, "
            ".parquet, .pt "
            "or .safetensors; for a directory of shards choose one of 'shale formats' with --to");
  }
  return std::string(format_named(options.format.value_or("")).name);  // "": it lists them
}

// stdout as output is for the formats that are written from front to back.
void refuse_unstreamed(const OutputOptions& options) {
  const Format& format = format_named(options.format.value_or(""));
  if (format.can.streams) return;
  std::vector<std::string_view> names;
  for (const Format* one : all_formats()) {
    if (one->can.streams) names.push_back(one->name);
  }
  throw Error(Code::usage, "'-' as output: {} files are not written to a stream", format.name)
      .hint(fmt::format("pass --to {}; or name a file or a directory (for one named '-' write "
                        "'./-')",
                        fmt::join(names, " or ")));
}

void refuse_no_row_groups(const std::string& name) {
  const Format& format = format_named(name);
  const auto is_it = [](const OptionSpec& option) { return option.name == kRowGroupOption; };
  if (std::ranges::any_of(format.options, is_it)) return;
  throw Error(Code::usage, "--row-group-size: {} has no row groups", format.name)
      .hint("leave it out, or pass --to parquet");
}

}  // namespace

void refuse_stream(const std::string& output) {
  if (const std::optional<Error> error = url_error(output)) throw *error;
  if (output != kStdout) return;
  throw Error(Code::usage, "'-' as output is not supported here")
      .hint("name a file or a directory; for a directory named '-' write './-'");
}

void choose_output(ConvertRequest& request, const OutputOptions& options) {
  if (request.output != kStdout) refuse_stream(request.output);
  if (request.output == kStdout) refuse_unstreamed(options);
  request.asked = options;
  FormatLayout chosen = options.layout ? layout_named(*options.layout) : FormatLayout{};
  if (is_one_file_of(chosen.layout, request.output))
    chosen = layout_named(chosen.layout->one_file_layout);
  const Layout* const layout = chosen.layout;
  // The file in a directory that its readers know by its suffix.
  if (layout != nullptr && !layout->directory_suffix.empty()) {
    const std::filesystem::path output(request.output);
    if (output.filename().empty()) request.output = output.parent_path().string();
    if (request.output.ends_with(layout->directory_suffix))
      request.output = join_path(request.output, layout->data_name);
  }
  const bool is_directory = layout != nullptr && (layout->writes == Layout::Writes::class_files ||
                                                  layout->writes == Layout::Writes::list_files);
  const bool has_own_format = layout != nullptr && layout->writes == Layout::Writes::list_files;
  if (const Format* const format = format_of_output(request.output)) {
    if (options.format && !has_own_format && !agrees(*options.format, request.output, *format)) {
      throw Error(Code::usage, "--to {} for an output that is one {} file by its name",
                  printable(*options.format),
                  is_archive_name(request.output) ? kArchive : format->name)
          .at(request.output)
          .hint("leave out --to, or choose an output with another suffix, or with none for shards");
    }
    request.format = format->name;
  } else if (has_own_format || (is_directory && !options.format)) {
    request.format = chosen.format->name;
  } else {
    if (layout != nullptr && !options.format) refuse_misplaced(request, chosen);
    request.format = format_of_shards(request.output, options);
  }
  if (options.row_group_bytes && !request.format.empty()) refuse_no_row_groups(request.format);
  request.row_group_bytes = options.row_group_bytes.value_or(0);
  if (options.row_group_bytes == std::uint64_t{0})
    throw Error(Code::usage, "--row-group-size 0: a row group holds at least one row")
        .hint("pass --row-group-size 100MB, or leave it out");
  request.with_index = options.with_index;
  request.is_deflated = is_deflate(options);
  if (options.shard_samples == std::uint64_t{0} || options.shard_bytes == std::uint64_t{0})
    throw Error(Code::usage, "{} 0: a shard holds at least one sample",
                options.shard_bytes == std::uint64_t{0} ? "--shard-size" : "--shard-samples");
  if (options.shards && (options.shard_samples || options.shard_bytes)) {
    throw Error(Code::usage, "--shards and {} exclude each other",
                options.shard_bytes ? "--shard-size" : "--shard-samples")
        .hint("leave out one of the two");
  }
  if (options.shards && options.is_append) {
    throw Error(Code::usage, "--shards with --append: the shards that stand keep their number")
        .hint("pass --shard-samples, or leave it out");
  }
  if (options.shards == std::uint64_t{0})
    throw Error(Code::usage, "--shards 0: a dataset has at least one shard")
        .hint("pass a number from 1 on");
  request.shards = options.shards.value_or(0);
  request.is_append = options.is_append;
  if (layout != nullptr) refuse_misplaced(request, chosen);
  request.layout = layout != nullptr && !layout->option.empty() ? layout->name : "";
  refuse_combinations(request);
  if (is_directory || options.shards) request.shard_bytes = kAnySize;
  if (options.is_append) request.shard_bytes = request.shard_samples = 0;  // as the dataset has it
  request.shard_bytes = options.shard_bytes.value_or(request.shard_bytes);
  request.shard_samples = options.shard_samples.value_or(request.shard_samples);
}

}  // namespace shale
