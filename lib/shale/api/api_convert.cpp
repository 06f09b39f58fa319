#include <algorithm>

#include "shale/api/api_request.hpp"
#include "shale/archives/archive_path.hpp"
#include "shale/base/nearest_word.hpp"
#include "shale/convert.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/ops/convert.hpp"
#include "shale/partners/pair_patterns.hpp"
#include "shale/requests/choose_part.hpp"
#include "shale/requests/combinations.hpp"

namespace shale {
namespace {

// Whether a word is this one of those that an option takes. Errors: Code::usage.
bool is_word(const std::string& word, std::string_view wanted, std::string_view option,
             const std::vector<std::string>& words) {
  return !word.empty() && checked_word(word, words, option) == wanted;
}

FileRequest files_of(const ConvertOptions& options, FileRequest files) {
  if (!options.ext.empty()) files.suffixes = suffixes_option(options.ext);
  if (!options.pairs.empty()) {
    const bool has_patterns = has_pair_patterns(options.pairs);
    const std::vector<std::string> words = {"on", "off", "bytes"};
    const std::string word =
        has_patterns ? words.front() : checked_word(options.pairs, words, "--pairs");
    if (has_patterns) files.pairs.suffixes = pairs_option(options.pairs);
    files.pairs.policy = pair_policy_named(word);
    files.pairs.is_given = true;
  }
  if (!options.hidden.empty()) {
    const bool is_kept = is_word(options.hidden, "keep", "--hidden", {"skip", "keep"});
    files.hidden = is_kept ? HiddenPolicy::keep : HiddenPolicy::skip;
  }
  files.groups_frames = is_word(options.group, "frames", "--group", {"frames"});
  files.allow_empty = options.allow_empty;
  files.refuses_incomplete = options.on_error == OnError::fail;
  files.listing.shared = options.listing;
  return files;
}

SampleChoice choice_of(const ConvertOptions& options) {
  SampleChoice choice{.select_file = options.select,
                      .exclude_file = options.exclude,
                      .classes = options.classes,
                      .limit = options.limit};
  if (options.keys.empty()) return choice;
  choice.keys = *key_form_of(checked_word(
      options.keys, std::vector<std::string>{"auto", "escaped", "raw", "nul", "rows"}, "--keys"));
  return choice;
}

ImageRequest images_of(const ConvertOptions& options) {
  ImageWords words{.resize = options.resize,
                   .crop = options.crop,
                   .encode = options.encode,
                   .quality = options.quality,
                   .color = options.color,
                   .only_larger = options.only_larger,
                   .apply_rotation = options.apply_rotation,
                   .strip_metadata = options.strip_metadata,
                   .depth = options.depth,
                   .alpha = options.alpha,
                   .axes = options.pixel_axes};
  if (!options.masks.empty()) words.masks = options.masks;
  return parse_image_words(words);
}

ConvertRequest request_of(const ConvertOptions& options) {
  OutputOptions asked{.shards = options.shards, .is_append = options.append};
  if (!options.layout.empty()) asked.layout = options.layout;
  if (!options.compress.empty()) {
    asked.compression =
        checked_word(options.compress, std::vector<std::string>{"none", "deflate"}, "--compress");
  }
  ConvertRequest request = request_to_write(options.to, asked, options.resources);
  request.inputs = with_archives_joined(options.inputs);
  request.fields = {.only = options.fields, .dropped = options.drop, .is_lossy = options.lossy};
  if (!options.axis.empty()) request.axes = parse_axes(options.axis);
  if (!options.rename.empty()) take_renames(request.fields, options.rename);
  if (!options.cast.empty()) request.fields.casts = parse_casts(options.cast);
  request.join = join_of(options.on, options.partners);
  request.labels = {.path = options.labels,
                    .label_column = options.label_column,
                    .key_column = options.key_column,
                    .separator = options.label_separator,
                    .strip_prefix = options.strip_prefix,
                    .pattern = options.label_from};
  take_no_labels(request);
  refuse_idle_columns(request.labels);
  const std::vector<std::string> orders = {"natural", "number"};
  request.classes = {
      .from = options.classes_from,
      .order = class_order_named(options.class_order.empty()
                                     ? ""
                                     : checked_word(options.class_order, orders, "--class-order")),
      .adds = is_word(options.new_classes, "append", "--new-classes", {"append"})};
  request.order = {
      .choice = choice_of(options), .is_shuffled = options.shuffle, .seed = options.seed};
  request.split = parse_split(options.split);
  request.split.group = options.split_group;
  refuse_idle_group(request.split);
  request.labels.group_column = request.labels.path.empty() ? "" : request.split.group;
  if (!options.split_by.empty()) {
    request.split_by = split_by_named(
        checked_word(options.split_by, std::vector<std::string>{"prefix", "suffix"}, "--split-by"));
  }
  request.files = files_of(options, request.files);
  request.container.index_folder = options.index_folder;
  request.container.parsing = wanted_parsing(options.parse, options.database);
  request.raw = raw_of(options.raw, options.raw_offset);
  request.images = images_of(options);
  request.on_error = options.on_error;
  request.max_errors = parse_error_allowance(options.max_errors);
  request.asked.has_on_error = options.on_error != OnError::skip;
  request.asked.has_seed = options.seed != 0;
  choose_part(request, options.part, options.part_offset);
  return request;
}

std::uint64_t findings_of(const ConvertReport& report) {
  std::uint64_t findings = report.verification.findings;
  for (const ConvertReport& split : report.splits) findings += findings_of(split);
  return findings;
}

}  // namespace

ConvertResult convert(const ConvertOptions& options, const Callbacks& callbacks) {
  const ConvertReport report = convert(request_of(options), Events{callbacks});
  ConvertResult result{.set = written_set(report),
                       .was_complete = report.was_complete,
                       .skipped = report.skipped,
                       .findings = findings_of(report),
                       .notes = report.notes};
  return result;
}

}  // namespace shale
