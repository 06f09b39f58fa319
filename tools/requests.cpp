#include "tools/requests.hpp"

#include <algorithm>

#include "shale/archives/archive_path.hpp"
#include "shale/arrays/array_columns.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/partners/pair_patterns.hpp"
#include "shale/requests/choose_output.hpp"
#include "shale/requests/choose_part.hpp"
#include "shale/requests/combinations.hpp"

#include "tools/facts.hpp"

namespace shale::tools {
namespace {

// Where `delimiter` ends a piece of the string: after a backslash it belongs to the piece.
std::size_t find_delimiter(const std::string& text, char delimiter, std::size_t begin) {
  for (std::size_t at = begin; at < text.size(); ++at) {
    if (text[at] == delimiter) return at;
    const bool is_escape = text[at] == '\\' && at + 1 < text.size() &&
                           (text[at + 1] == delimiter || text[at + 1] == '\\');
    if (is_escape) ++at;
  }
  return std::string::npos;
}

std::string without_escapes(const std::string& piece, char delimiter) {
  std::string text;
  for (std::size_t at = 0; at < piece.size(); ++at) {
    const bool is_escape = piece[at] == '\\' && at + 1 < piece.size() &&
                           (piece[at + 1] == delimiter || piece[at + 1] == '\\');
    text += piece[is_escape ? ++at : at];
  }
  return text;
}

std::vector<std::string> split_list(const std::string& text, std::string_view option,
                                    std::string_view what) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(find_delimiter(text, ',', begin), text.size());
    names.push_back(without_escapes(text.substr(begin, end - begin), ','));
    if (names.back().empty())
      throw Error(Code::usage, "{} '{}' has an empty {} name", option, printable(text), what);
    begin = end + 1;
  }
  return names;
}

// Samples of a damaged dataset are left out only for those who say so.
OnDamage on_damage_of(const ConvertRequest& request) {
  return request.asked.has_on_error && request.on_error == OnError::skip ? OnDamage::leave_out
                                                                         : OnDamage::suggest;
}

// What convert and resample have in common.
ConvertRequest output_request_of(const CommandLine& line) {
  line.require_words_at_least(2);
  ConvertRequest request;
  request.inputs = with_archives_joined({line.words().begin(), line.words().end() - 1});
  request.output = line.words().back();
  OutputOptions options;
  if (line.has("to")) options.format = line.text("to");
  if (line.has("shard-size"))
    options.shard_bytes = parse_size(line.text("shard-size"), "--shard-size");
  if (line.has("row-group-size"))
    options.row_group_bytes = parse_size(line.text("row-group-size"), "--row-group-size");
  options.shard_samples = line.count("shard-samples");
  options.shards = line.count("shards");
  options.with_index = line.flag("with-index");
  options.is_append = line.flag("append");
  if (line.has("compress")) options.compression = line.text("compress");
  if (line.has("layout")) options.layout = line.choice("layout");
  request.verify = line.flag("verify");
  choose_output(request, options);
  request.raw = raw_option(line);
  if (line.has("fields"))
    request.fields.only = split_list(line.text("fields"), "--fields", "field");
  request.generator = kGenerator;
  request.io = io_option(line);
  request.overwrite = line.flag("overwrite");
  request.jobs = static_cast<unsigned>(line.jobs().value);
  request.memory_bytes = line.memory().value;
  return request;
}

OnError on_error_option(const CommandLine& line) {
  const std::string word = line.choice("on-error");
  if (word == "keep") return OnError::keep;
  return word == "fail" ? OnError::fail : OnError::skip;
}

ImageRequest images_of(const CommandLine& line) {
  ImageWords words{.resize = line.texts("resize"),
                   .crop = line.texts("crop"),
                   .encode = line.texts("encode"),
                   .quality = line.texts("quality"),
                   .color = line.texts("color"),
                   .only_larger = line.flag("only-larger"),
                   .apply_rotation = line.flag("apply-rotation"),
                   .strip_metadata = line.flag("strip-metadata")};
  if (line.has("depth")) words.depth = line.text("depth");
  if (line.has("alpha")) words.alpha = line.text("alpha");
  if (line.has("axes")) words.axes = line.text("axes");
  if (line.has("masks")) words.masks = line.text("masks");
  return parse_image_words(words);
}

DrawRequest draw_request_of(const CommandLine& line) {
  DrawRequest draw;
  std::optional<DrawMode> chosen;
  for (const DrawMode mode :
       {DrawMode::permute, DrawMode::replace, DrawMode::indices, DrawMode::weights}) {
    const std::string option(name_of(mode));
    const bool has_file = mode == DrawMode::indices || mode == DrawMode::weights;
    if (has_file ? !line.has(option.c_str()) : !line.flag(option.c_str())) continue;
    // Weights draw with replacement: to say so is not a contradiction.
    const bool is_implied = chosen == DrawMode::replace && mode == DrawMode::weights;
    if (chosen && !is_implied) {
      throw Error(Code::usage, "--{} and --{} exclude each other", name_of(*chosen), option)
          .hint("leave one of them out");
    }
    chosen = mode;
    if (has_file) draw.file = line.text(option.c_str());
  }
  draw.mode = chosen.value_or(DrawMode::permute);
  for (const char* const option : {"rows", "seed"}) {
    if (draw.mode == DrawMode::indices && line.has(option))
      throw Error(Code::usage, "--{} has no effect with --indices", option).hint("leave it out");
  }
  draw.rows = line.count("rows");
  draw.seed = line.count("seed").value_or(0);
  return draw;
}

std::pair<std::string, std::string> split_pair(const std::string& text) {
  const std::size_t equals = find_delimiter(text, '=', 0);
  if (equals == std::string::npos || equals == 0 || !may_be_one_array(text) ||
      equals + 1 == text.size()) {
    throw Error(Code::usage,
                "--also '{}' does not have the form SRC.npy=OUT.npy (or OUT.pt, OUT.safetensors)",
                printable(text));
  }
  return {without_escapes(text.substr(0, equals), '='), text.substr(equals + 1)};
}

}  // namespace

SampleChoice choice_of(const CommandLine& line) {
  SampleChoice choice{.select_file = line.text_or_none("select"),
                      .exclude_file = line.text_or_none("exclude"),
                      .keys = key_form_of(line.choice("keys")).value()};
  if (line.has("classes")) choice.classes = split_list(line.text("classes"), "--classes", "class");
  if (line.has("limit")) {
    choice.limit = parse_count(line.text("limit"), "--limit");
    if (choice.limit == 0)
      throw Error(Code::usage, "--limit 0 takes no sample").hint("pass 1 or more, or leave it out");
  }
  return choice;
}

SplitRequest split_of(const CommandLine& line) {
  SplitRequest split = parse_split(line.texts("split"));
  split.group = line.text_or_none("split-group");
  refuse_idle_group(split);
  return split;
}

void take_file_options(const CommandLine& line, InputRequest& input) {
  input.labels = label_file_of(line);
  take_no_labels(input);
  input.classes.from = line.text_or_none("classes-from");
  if (line.has("class-order")) input.classes.order = class_order_named(line.choice("class-order"));
  if (line.has("hidden")) {
    input.files.hidden = line.choice("hidden") == "skip" ? HiddenPolicy::skip : HiddenPolicy::keep;
  }
  if (line.has("group")) input.files.groups_frames = line.choice("group") == "frames";
  if (line.has("pairs")) {
    const std::string& pairs = line.text("pairs");
    if (has_pair_patterns(pairs)) input.files.pairs.suffixes = pairs_option(pairs);
    input.files.pairs.policy =
        has_pair_patterns(pairs) ? PairPolicy::on : pair_policy_named(line.choice("pairs"));
    input.files.pairs.is_given = true;
  }
  if (line.has("ext")) input.files.suffixes = suffixes_option(line.text("ext"));
  input.files.allow_empty = line.flag("allow-empty");
}

void refuse_idle_file_options(const CommandLine& line, const std::string& path) {
  for (const char* const option : {"ext", "pairs", "hidden", "group", "allow-empty", "classes-from",
                                   "class-order", "labels", "label-from"}) {
    const bool is_of_source = std::string_view(option).starts_with("label") && line.has("against");
    if (!line.has(option) || is_of_source) continue;
    throw Error(Code::usage, "--{} is for a folder or an archive that is not converted yet", option)
        .at(path)
        .hint("leave it out");
  }
}

ConvertRequest convert_request_of(const CommandLine& line) {
  ConvertRequest request = output_request_of(line);
  request.images = images_of(line);
  if (line.has("drop")) request.fields.dropped = split_list(line.text("drop"), "--drop", "field");
  if (line.has("rename")) take_renames(request.fields, line.text("rename"));
  if (line.has("cast")) request.fields.casts = parse_casts(line.text("cast"));
  request.fields.is_lossy = line.flag("lossy");
  if (line.has("axis")) request.axes = parse_axes(line.text("axis"));
  take_file_options(line, request);
  request.container.index_folder = line.text_or_none("index-dir");
  request.container.parsing = parsing_option(line);
  request.join = join_option(line);
  request.order.choice = choice_of(line);
  request.order.is_shuffled = line.flag("shuffle");
  request.order.seed = parse_count(line.text("seed"), "--seed");
  request.split = split_of(line);
  request.labels.group_column = request.labels.path.empty() ? "" : request.split.group;
  if (line.has("split-by")) request.split_by = split_by_named(line.choice("split-by"));
  request.on_error = on_error_option(line);
  request.files.refuses_incomplete = request.on_error == OnError::fail;
  request.max_errors = parse_error_allowance(line.text("max-errors"));
  request.files.listing.shared = line.text_or_none("listing");
  if (line.has("new-classes")) request.classes.adds = line.choice("new-classes") == "append";
  request.asked.has_on_error = line.has("on-error");
  request.on_damage = on_damage_of(request);
  request.asked.has_seed = line.has("seed");
  choose_part(request, line.text_or_none("part"), line.count("part-offset"));
  return request;
}

ResampleRequest resample_request_of(const CommandLine& line) {
  ResampleRequest request;
  request.conversion = output_request_of(line);
  request.conversion.order.draw = draw_request_of(line);
  request.is_permutation = line.flag("permute");
  request.conversion.scratch_folder = line.text_or_none("tmp");
  for (const std::string& text : line.texts("also")) request.also.push_back(split_pair(text));
  request.indices_output = line.text_or_none("save-indices");
  require_array_names(request);
  return request;
}

ReportPlace report_place_of(const CommandLine& line) {
  ReportPlace place{
      .output = line.text_or_none("output"), .inputs = {}, .overwrites = line.flag("overwrite")};
  if (const std::optional<InputRequest> joined = joined_inputs(line)) {
    for (const std::string& word : joined->inputs) place.inputs.push_back(path_in_word(word));
  } else {
    place.inputs = {dataset_word(line)};
  }
  return place;
}

ReportRequest report_request_of(const CommandLine& line) {
  const DatasetRequest dataset = dataset_request(line);
  ReportRequest request{.dataset = dataset.path,
                        .index_folder = dataset.index_folder,
                        .parsing = dataset.parsing,
                        .joined = joined_inputs(line),
                        .listed = listed_input(line),
                        .verifies = line.flag("verify"),
                        .generator = std::string(kGenerator),
                        .jobs = static_cast<unsigned>(line.jobs().value),
                        .memory_bytes = line.memory().value};
  const std::string& sample = line.text("sample");
  request.sample = sample == "all" ? 0 : parse_count(sample, "--sample");
  if (request.sample == 0 && sample != "all") {
    throw Error(Code::usage, "--sample 0 looks at nothing")
        .hint("pass a number of samples, or 'all'");
  }
  return request;
}

}  // namespace shale::tools
