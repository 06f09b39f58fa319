#include "tools/requests.hpp"

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/ops/choose_output.hpp"
#include "shale/ops/choose_part.hpp"
#include "shale/ops/draw_options.hpp"

#include "tools/output_options.hpp"

namespace shale::tools {
namespace {

// They do nothing for an output that is one array.
constexpr const char* kImageOptions[] = {"on-error", "max-errors"};

void read_part_options(const CommandLine& line, ConvertRequest& request) {
  std::optional<std::uint64_t> offset;
  if (line.has("part-offset")) offset = parse_count(line.text("part-offset"), "--part-offset");
  if (line.has("part")) return choose_part(request, parse_part(line.text("part"), offset));
  if (offset) throw Error(Code::usage, "--part-offset has no effect without --part");
}

ImageRequest images_of(const CommandLine& line) {
  const auto texts = [&](const char* option) {
    return line.has(option) ? line.texts(option) : std::vector<std::string>();
  };
  ImageWords words{.resize = texts("resize"),
                   .crop = texts("crop"),
                   .encode = texts("encode"),
                   .quality = texts("quality"),
                   .only_larger = line.flag("only-larger"),
                   .apply_rotation = line.flag("apply-rotation"),
                   .strip_metadata = line.flag("strip-metadata")};
  if (line.has("masks")) words.masks = line.text("masks");
  return parse_image_words(words);
}

}  // namespace

ConvertRequest convert_request_of(const CommandLine& line, const CommonOptions& common) {
  FileOptions file{.with_index = line.flag("with-index"), .is_append = line.flag("append")};
  if (line.has("compress")) file.compression = line.text("compress");
  file.verifies = line.flag("verify");
  if (line.has("layout")) {
    (void)line.choice("layout");  // one of those there are
    file.layout = line.text("layout");
  }
  ConvertRequest request = read_output_options(line, common, file);
  request.images = images_of(line);
  if (is_array_name(request.output) && request.images.is_empty())
    refuse_for_file(line, kImageOptions, request.output);
  if (line.has("labels")) request.labels.path = line.text("labels");
  read_label_columns(line, request.labels.path, request.labels.label_column,
                     request.labels.key_column);
  if (line.has("classes-from")) request.classes.from = line.text("classes-from");
  if (line.has("index-dir")) request.container.index_folder = line.text("index-dir");
  request.container.dialect = dialect_option(line);
  if (line.has("select")) request.order.choice.select_file = line.text("select");
  if (line.has("exclude")) request.order.choice.exclude_file = line.text("exclude");
  request.order.is_shuffled = line.flag("shuffle");
  request.order.seed = parse_count(line.text("seed"), "--seed");
  if (line.has("split")) request.split = parse_split(line.texts("split"));
  refuse_idle_seed(request, line.has("seed"));
  if (line.has("hidden")) {
    request.files.hidden = line.choice("hidden") == 0 ? HiddenPolicy::skip : HiddenPolicy::keep;
  }
  if (line.has("group")) {
    (void)line.choice("group");
    request.files.groups_frames = true;
  }
  if (line.has("pairs")) {
    request.files.pairs.policy = line.choice("pairs") == 0 ? PairPolicy::on : PairPolicy::off;
    request.files.pairs.is_given = true;
  }
  if (line.has("ext")) request.files.suffixes = suffixes_option(line.text("ext"));
  request.files.allow_empty = line.flag("allow-empty");
  request.on_error = static_cast<OnError>(line.choice("on-error"));
  request.files.refuses_incomplete = request.on_error == OnError::fail;
  request.max_errors = parse_error_allowance(line.text("max-errors"));
  if (line.has("listing")) request.files.listing.shared = line.text("listing");
  if (line.has("new-classes")) {
    (void)line.choice("new-classes");
    if (!request.is_append)
      throw Error(Code::usage, "--new-classes has no effect without --append");
    request.classes.adds = true;
  }
  read_part_options(line, request);
  return request;
}

namespace {

DrawOptions draw_options_of(const CommandLine& line) {
  DrawOptions options;
  options.permute = line.flag("permute");
  options.replace = line.flag("replace");
  if (line.has("indices")) options.indices = line.text("indices");
  if (line.has("weights")) options.weights = line.text("weights");
  if (line.has("rows")) options.rows = parse_count(line.text("rows"), "--rows");
  if (line.has("seed")) options.seed = parse_count(line.text("seed"), "--seed");
  return options;
}

std::pair<std::string, std::string> split_pair(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || !may_be_one_array(text) ||
      equals + 1 == text.size()) {
    throw Error(Code::usage,
                "--also '{}' does not have the form SRC.npy=OUT.npy (or OUT.pt, OUT.safetensors)",
                printable(text));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

ResampleRequest resample_request_of(const CommandLine& line, const CommonOptions& common) {
  ResampleRequest request;
  request.conversion = read_output_options(line, common);
  request.conversion.order.draw = draw_request(draw_options_of(line));
  request.is_permutation = line.flag("permute");
  if (line.has("tmp")) request.conversion.scratch_folder = line.text("tmp");
  if (line.has("also")) {
    for (const std::string& text : line.texts("also")) request.also.push_back(split_pair(text));
  }
  if (line.has("save-indices")) request.indices_output = line.text("save-indices");
  require_array_names(request);
  return request;
}

}  // namespace shale::tools
