#include "shale/sources/input_request.hpp"

#include <algorithm>
#include <iterator>

#include "shale/archives/archive_path.hpp"
#include "shale/archives/stream_path.hpp"
#include "shale/arrays/array_columns.hpp"
#include "shale/base/printable.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/folders/frames_source.hpp"
#include "shale/folders/metadata_rows.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/labels/label_pattern.hpp"
#include "shale/partners/file_pairs.hpp"

namespace shale {

std::vector<std::string> inputs_of(const InputRequest& request) {
  std::vector<std::string> inputs;
  for (const std::string& input : request.inputs) {
    inputs.push_back(path_in_word(input));
    if (std::optional<ArchivePath> path = archive_of_path(inputs.back())) {
      inputs.pop_back();
      std::ranges::move(path->archives, std::back_inserter(inputs));
    } else if (std::optional<StreamPath> stream = stream_of_path(inputs.back())) {
      if (is_stdin(*stream)) {
        inputs.pop_back();
      } else {
        inputs.back() = std::move(stream->file);
      }
    }
  }
  if (request.order.draw && !request.order.draw->file.empty())
    inputs.push_back(request.order.draw->file);
  // A dataset may lend its classes to the one that replaces it.
  for (const std::string& file :
       {request.labels.path, request.classes.from, request.order.choice.select_file,
        request.order.choice.exclude_file}) {
    const std::optional<struct stat> facts = facts_behind(file);
    if (facts && S_ISREG(facts->st_mode)) inputs.push_back(file);
  }
  return inputs;
}

namespace {

// As it was typed: manifests have options as they are shown.
std::string typed(const Manifest& manifest, std::string_view option) {
  const std::string value = option_of(manifest, option);
  return unescaped(value).value_or(value);
}

}  // namespace

ParsingWords parsing_words(const Parsing& parsing) {
  ParsingWords words;
  if (parsing.dialect == Dialect::keys) {
    words.emplace_back(kParseOption, parsing.keys);
  } else if (parsing.dialect) {
    words.emplace_back(kParseOption, name_of(*parsing.dialect));
  }
  if (!parsing.database.empty()) words.emplace_back(kDatabaseOption, parsing.database);
  for (auto& word : words) word.second = printable(word.second);
  return words;
}

Parsing recorded_parsing(const Manifest& manifest) {
  return wanted_parsing(typed(manifest, kParseOption), typed(manifest, kDatabaseOption));
}

RawNumbers recorded_raw(const Manifest& manifest, const RawNumbers& given) {
  return given.is_given() ? given : recorded_raw(option_of(manifest, kRawOption));
}

InputRequest recorded_input(const Manifest& manifest, const std::string& dataset,
                            bool is_of_files) {
  InputRequest input;
  if (!manifest.transform.empty() && !other_codec(manifest.transform))
    input.images = image_request_of(manifest.transform);
  input.files = {.allow_empty = true};
  if (const std::string axes = option_of(manifest, kAxisOption); !axes.empty())
    input.axes = parse_axes(axes);
  input.raw = recorded_raw(manifest);
  if (!is_of_files) {
    input.container.parsing = recorded_parsing(manifest);
    return input;
  }
  if (!manifest.classes.empty()) input.classes.from = dataset;
  if (option_of(manifest, kFoldersOption).ends_with('?')) input.join.partners = Partners::any;
  input.files.takes_any_archive = true;
  input.files.hidden =
      option_of(manifest, "hidden") == "keep" ? HiddenPolicy::keep : HiddenPolicy::skip;
  input.files.suffixes = option_of(manifest, kSuffixesOption);
  input.files.finds_arrays = false;  // they are bytes in a set that has no types
  input.files.groups_frames = manifest.source.kind == kVideoFrames;
  input.files.takes_decodable = input.images.writes_other_types() && !input.files.groups_frames;
  input.labels.pattern = typed(manifest, kLabelFromOption);
  input.files.pairs.suffixes = option_of(manifest, kPairsOption);
  input.files.pairs.folders = option_of(manifest, kFoldersOption);
  input.files.pairs.takes_metadata = !option_of(manifest, kMetadataOption).empty();
  return input;
}

}  // namespace shale
