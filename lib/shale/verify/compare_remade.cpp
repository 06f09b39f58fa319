#include "shale/verify/compare_remade.hpp"

#include <algorithm>
#include <utility>

#include "shale/archives/archive_tree.hpp"
#include "shale/archives/tar_stream.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/labels/sample_choice.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"
#include "shale/sources/named_folders.hpp"
#include "shale/sources/open_input.hpp"

namespace shale {
namespace {

OnError on_error_of(const Manifest& manifest) {
  const std::string text = option_of(manifest, "on_error");
  return text == "keep" ? OnError::keep : OnError::skip;
}

InputRequest input_of(const Manifest& manifest, const VerifyRequest& request, bool is_folder) {
  InputRequest input = recorded_input(manifest, request.dataset, is_folder);
  input.inputs = request.against;
  input.generator = request.generator;
  input.labels = {request.labels_file, request.label_column, request.key_column};
  input.stdin_copy = request.stdin_copy;
  input.jobs = request.jobs;
  input.memory_bytes = request.memory_bytes / 2;
  if (is_folder) return input;
  for (const Field& field : manifest.schema.fields) input.fields.push_back(field.name);
  return input;
}

// Of the samples as they are written.
DatasetDigest digest_of_all(Source& source, const Format& format, const ShardLayout& layout,
                            OnError on_error, const VerifyRequest& request, const Events& events) {
  const OptionSet options(format.options);
  const Encoding encoding{format, options, layout, on_error};
  DatasetDigest digest;
  encode_all(source, encoding, {.jobs = request.jobs, .memory_bytes = request.memory_bytes / 2},
             events, [&](const EncodedSample& sample) {
               if (sample.record) digest.append(sample.record->digest);
             });
  return digest;
}

// Where image work cannot be done again.
void compare_what_went_in(const Manifest& ours, Source& source, const VerifyRequest& request,
                          const FindingSink& sink, const Events& events,
                          std::vector<std::string>& notes) {
  const SourceInfo& info = source.info();
  refuse_for_stream(source, request.against.front(), "a comparison of images of another codec");
  const std::string of = printable(request.against.front());
  compare_fact("number of samples that went in", std::to_string(ours.source.samples),
               std::to_string(info.manifest.samples), of, sink);
  if (ours.skipped > info.skipped || has_chosen_samples(ours) || !ours.source.digest) {
    notes.emplace_back("some of them were left out: only their number was compared");
    return;
  }
  const Format& any = format_named("record");
  const DatasetDigest read =
      digest_of_all(source, any, any.layout(info.schema, OptionSet(any.options)), on_error_of(ours),
                    request, events);
  compare_fact("content digest of what went in", ours.source.digest->content.hex(),
               read.content.hex(), of, sink);
}

}  // namespace

void compare_fact(std::string_view what, const std::string& found, const std::string& expected,
                  const std::string& of, const FindingSink& sink) {
  if (found == expected) return;
  Finding finding;
  finding.message = fmt::format("{} differs from {}", what, of);
  finding.found = found;
  finding.expected = expected;
  sink(std::move(finding));
}

void compare_samples(const DatasetDigest& ours, const DatasetDigest& theirs, const std::string& of,
                     const FindingSink& sink) {
  compare_fact("number of samples", std::to_string(ours.samples), std::to_string(theirs.samples),
               of, sink);
  compare_fact("content digest", ours.content.hex(), theirs.content.hex(), of, sink);
}

bool is_remade(const OpenedDataset& dataset, const VerifyRequest& request, bool is_of_folder,
               const Events& events) {
  const Manifest& manifest = dataset.manifest;
  if (manifest.transform.empty()) return false;
  // Samples are compared one by one where they have keys.
  if (is_of_folder) return !manifest.layout.has_keys;
  // A copy has the samples as they are.
  events.stop_if_asked();
  const std::string& against = request.against.front();
  if (look_at(against) != Place::dataset) return true;
  const Manifest theirs = read_manifest(against);
  return theirs.transform != manifest.transform && theirs.digest.content != manifest.digest.content;
}

void compare_remade(const OpenedDataset& dataset, const VerifyRequest& request,
                    const FindingSink& sink, const Events& events,
                    std::vector<std::string>& notes) {
  const Manifest& ours = dataset.manifest;
  const std::string& against = request.against.front();
  const bool is_folder = !find_named_folders(request.against).empty() || archive_of_path(against) ||
                         stream_of_path(against) ||
                         (look_at(against) != Place::dataset && !file_of_path(against));
  const std::unique_ptr<Source> source =
      open_input(input_of(ours, request, is_folder), temporary_folder(), events);
  if (const std::optional<std::string> codec = other_codec(ours.transform)) {
    notes.push_back(fmt::format(
        "the images were made by {}: what went in was compared, not what came out", *codec));
    return compare_what_went_in(ours, *source, request, sink, events, notes);
  }
  const DatasetDigest made =
      digest_of_all(*source, format_of(ours), ours.layout, on_error_of(ours), request, events);
  const std::string of = "what image work makes of " + printable(against);
  compare_samples(ours.digest, made, of, sink);
  if (ours.layout.has_keys)
    compare_fact("key digest", ours.digest.keys.hex(), made.keys.hex(), of, sink);
}

}  // namespace shale
