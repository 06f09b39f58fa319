#include <algorithm>

#include "shale/api/api_request.hpp"
#include "shale/convert.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/ops/convert.hpp"
#include "shale/requests/choose_output.hpp"

namespace shale {
namespace {

ConvertRequest request_of(const ConvertOptions& options) {
  ConvertRequest request = request_to_write(options.to, options.append, options.resources);
  request.inputs = options.inputs;
  request.fields = options.fields;
  request.labels = {.path = options.labels,
                    .label_column = options.label_column,
                    .key_column = options.key_column};
  request.classes.from = options.classes_from;
  request.order = {.choice = {.select_file = options.select, .exclude_file = options.exclude},
                   .is_shuffled = options.shuffle,
                   .seed = options.seed};
  request.split = parse_split(options.split);
  request.asked.has_seed = options.seed != 0;
  if (!options.ext.empty()) request.files.suffixes = suffixes_option(options.ext);
  request.images = parse_image_words({.resize = options.resize,
                                      .crop = options.crop,
                                      .encode = options.encode,
                                      .quality = options.quality,
                                      .only_larger = options.only_larger,
                                      .apply_rotation = options.apply_rotation,
                                      .strip_metadata = options.strip_metadata,
                                      .depth = options.depth,
                                      .alpha = options.alpha});
  request.on_error = options.on_error;
  request.files.refuses_incomplete = request.on_error == OnError::fail;
  request.max_errors = parse_error_allowance(options.max_errors);
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
