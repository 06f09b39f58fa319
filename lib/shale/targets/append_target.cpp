#include "shale/targets/append_target.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/encoding/duplicates.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/partners/file_pairs.hpp"
#include "shale/shards/common_keys.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/sources/source_over.hpp"
#include "shale/targets/compare_content.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/identity.hpp"

namespace shale {
namespace {

constexpr std::string_view kSeveralKinds = "several inputs";

Error cannot_append(const std::string& output, const std::string& why) {
  return Error(Code::mismatch, "cannot be appended to: {}", why).at(output);
}

// Errors: Code::not_found, Code::mismatch for what is not a finished dataset.
void require_dataset(const std::string& output) {
  const Place place = look_at(output);
  if (place == Place::dataset) return;
  if (place == Place::unfinished) throw unfinished(output);
  if (const std::optional<Error> error = several_datasets(output)) throw Error(*error);
  if (place == Place::other_file || place == Place::other_folder)
    refuse_strange_output(output, place);
  throw Error(Code::not_found, "holds no dataset to append to")
      .at(output)
      .hint("to begin one leave out --append, and pass --to");
}

std::uint64_t number_option(const Manifest& manifest, std::string_view name,
                            std::uint64_t otherwise) {
  for (const auto& [option, value] : manifest.options) {
    std::uint64_t number = 0;
    const char* const end = value.data() + value.size();
    if (option != name) continue;
    const auto parsed = std::from_chars(value.data(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end && number > 0) return number;
  }
  return otherwise;
}

// What the request leaves open is as the dataset has it.
ConvertRequest request_for(const ConvertRequest& asked, const Manifest& manifest) {
  if (manifest.part) {
    throw cannot_append(asked.output, fmt::format("it is part {} of {} of a run",
                                                  manifest.part->index, manifest.part->count))
        .hint("merge the parts, and append to the result");
  }
  (void)format_of(manifest);
  if (!asked.format.empty() && asked.format != manifest.format) {
    throw cannot_append(asked.output, fmt::format("its format is {}, and --to says {}",
                                                  manifest.format, asked.format))
        .hint("leave out --to");
  }
  ConvertRequest request = asked;
  const ConvertRequest defaults;
  request.format = manifest.format;
  if (request.shard_bytes == 0)
    request.shard_bytes = number_option(manifest, "shard_size", defaults.shard_bytes);
  if (request.shard_samples == 0)
    request.shard_samples = number_option(manifest, "shard_samples", defaults.shard_samples);
  if (request.row_group_bytes == 0) request.row_group_bytes = row_group_bytes_of(manifest);
  request.classes.extends_set = !manifest.classes.empty();
  if (request.classes.extends_set) request.classes.from = request.output;
  request.files.standing = option_of(manifest, kSuffixesOption);
  request.files.pairs.standing = option_of(manifest, kPairsOption);
  if (request.files.pairs.standing.empty())
    request.files.pairs.standing = option_of(manifest, kFoldersOption);
  return request;
}

std::string text_of(const std::vector<ManifestTransform>& transform) {
  std::string text;
  for (const ManifestTransform& each : transform)
    text += (text.empty() ? "" : "; ") + text_of(each);
  return text.empty() ? "none" : text;
}

// All samples of a set have the same fields and keys, and are made by one rule, and by one codec.
void compare_input(const std::string& output, const Manifest& manifest, const SourceInfo& input) {
  const Schema &was = manifest.schema, &is = input.schema;
  const auto keys = [](const Schema& schema) { return schema.has_keys ? "names" : "numbers"; };
  const std::vector<ManifestTransform> work =
      input.transform ? input.transform->recorded() : std::vector<ManifestTransform>();
  const struct {
    bool is_same;
    std::string_view fact;
    std::string then, now;
    std::string_view hint;
  } facts[] = {
      {was.fields == is.fields, "its fields are {}, those of the input {}", fields_text(was),
       fields_text(is),
       input.manifest.kind == kProgramKind
           ? "write samples of these fields, in this order, or choose another output"
       : input.pairs.empty() && input.metadata.empty()
           ? "choose another output, or the same fields in the same order (--fields)"
           : "choose another output, or pass --pairs off to leave out the files beside the images"},
      {was.has_keys == is.has_keys, "its keys are {}, those of the input {}", keys(was), keys(is),
       "choose another output"},
      {text_of(manifest.transform) == text_of(work), "its image work is {}, that of the command {}",
       text_of(manifest.transform), text_of(work),
       manifest.transform.empty() ? "leave out the options of image work, or choose another output"
                                  : "pass the options that the dataset was made with"},
      {manifest.transform == work, "its images were made by other codecs: {}",
       other_codec(manifest.transform).value_or("of another version"), "",
       "use the version of shale that wrote it, or convert everything again"},
  };
  for (const auto& [is_same, fact, then, now, hint] : facts) {
    if (!is_same)
      throw cannot_append(output, fmt::format(fmt::runtime(fact), then, now)).hint(hint);
  }
}

// The class table of both: no label changes its meaning.
std::vector<std::string> joined_classes(const ConvertRequest& request, const Manifest& manifest,
                                        const std::vector<std::string>& added) {
  const std::vector<std::string>& was = manifest.classes;
  const std::size_t common = std::min(was.size(), added.size());
  for (std::size_t label = 0; label < common; ++label) {
    if (was[label] == added[label]) continue;
    throw cannot_append(request.output,
                        fmt::format("its label {} is class '{}', in the input it is '{}'", label,
                                    printable(was[label]), printable(added[label])))
        .hint(request.inputs.empty()
                  ? "leave out the names of the classes, which are those of the dataset"
                  : "convert what the input was made from, with --append");
  }
  if (added.size() <= was.size()) return was;
  if (was.empty() && manifest.digest.samples > 0) {
    throw cannot_append(request.output, "its labels have no class table, those of the input have")
        .hint("choose another output, or pass integer labels");
  }
  if (!request.classes.adds) {
    throw cannot_append(request.output, fmt::format("it has no class '{}', the input has",
                                                    printable(added[was.size()])))
        .hint("pass --new-classes append to add the class behind the others");
  }
  return added;
}

ManifestRun only_run(const Manifest& manifest) {
  return {.source = manifest.source,
          .options = manifest.options,
          .samples = manifest.digest.samples,
          .shards = manifest.shard_count};
}

// True if the run is the last one that the dataset was appended to with.
bool is_last_run(const Manifest& manifest, const Manifest& wanted) {
  if (manifest.runs.empty()) return false;
  Manifest last = wanted;
  last.options = manifest.runs.back().options;
  last.source = manifest.runs.back().source;
  last.classes = manifest.classes;
  return !first_difference(identity_of(last), identity_of(wanted));
}

// All inputs as one.
ManifestSource sum_of(const std::vector<ManifestRun>& runs) {
  ManifestSource sum;
  sum.kind = runs.front().source.kind;
  sum.origin = runs.front().source.origin;
  std::string fingerprints;
  for (const ManifestRun& run : runs) {
    sum.samples += run.source.samples;
    sum.bytes += run.source.bytes;
    fingerprints += run.source.fingerprint.hex() + "\n";
    if (run.source.kind != sum.kind) sum.kind = kSeveralKinds;
    if (run.source.digest) {
      if (!sum.digest) sum.digest.emplace();
      sum.digest->append(*run.source.digest);
    }
    if (run.source.origin != sum.origin) sum.origin.clear();
  }
  if (sum.kind != kDatasetKind) sum.origin.clear();
  sum.fingerprint = xxh3_128(as_bytes(fingerprints));
  return sum;
}

Manifest joined(const AppendTarget::Standing& standing, Manifest added) {
  Manifest all = standing.manifest();
  if (all.runs.empty()) all.runs.push_back(only_run(all));
  all.runs.push_back(only_run(added));
  all.runs.back().after = standing.self_hash;
  all.generator = added.generator;
  all.classes = std::move(added.classes);
  all.source = sum_of(all.runs);
  append_totals(all, added);
  all.files.insert(all.files.end(), added.files.begin(), added.files.end());
  return all;
}

AppendedSamples counts_of(const Manifest& manifest) {
  return {.samples = manifest.digest.samples,
          .shards = manifest.shard_count,
          .payload_bytes = manifest.payload_bytes};
}

// The report of an append that the dataset holds already, as its last run.
ConvertReport appended_before(const Manifest& manifest) {
  ConvertReport report;
  report.manifest = manifest;
  report.was_complete = true;
  const ManifestRun& last = manifest.runs.back();
  report.appended = AppendedSamples{.samples = last.samples, .shards = last.shards};
  return report;
}

// The hint of a conversion may name --overwrite, which no append takes.
Error advised(const Error& error, const std::string& hint) {
  Error again(error.code(), "{}", error.message());
  if (error.sample()) again.for_sample(error.sample()->key, error.sample()->index);
  if (!error.cause().empty()) again.because(error.cause());
  return again.at(error.file(), error.offset()).hint(hint);
}

}  // namespace

AppendTarget::Standing::Standing(const std::string& output)
    : paths(output),
      shards(open_shard_list(paths)),
      self_hash(Hash128::from_hex(self_hash_of(InputFile(paths.manifest))).value()) {}

void AppendTarget::look(const Events& events) {
  if (work_ || !is_swapping(request_.output)) require_dataset(request_.output);
  if (!work_ && !is_only_planned_) return;
  // A new manifest says that all of the dataset is whole: what is small is proved, the rest has its
  // size.
  prove_other_files(DatasetPaths(request_.output), refuse_incomplete(request_.output));
  standing_.emplace(request_.output);
  request_ = request_for(request_, manifest());
  if (!work_) return;
  work_->number_shards_from(manifest().shard_count);
  left_ = find_unfinished_run(*work_, events, run());
  if (left_.fault) refuse_other_append("");
}

std::uint64_t AppendTarget::run() const {
  return std::max<std::uint64_t>(manifest().runs.size(), 1);
}

std::unique_ptr<Source> AppendTarget::open(const ConvertRequest& request,
                                           const std::string& scratch_folder,
                                           const Events& events) {
  std::unique_ptr<Source> source = Target::open(request, scratch_folder, events);
  if (source->info().schema.has_keys) return source;
  return make_numbered_source(std::move(source), manifest().digest.samples);
}

void AppendTarget::accept(const SourceInfo& info, const Events& /*events*/) {
  compare_input(request_.output, manifest(), info);
  refuse_unfit_samples(request_, format(), info, request_.shard_bytes);
}

PlannedRun AppendTarget::describe(const SourceInfo& info) const {
  PlannedRun facts{.wanted = wanted_manifest(request_, info), .head = {}};
  facts.wanted.classes = joined_classes(request_, manifest(), facts.wanted.classes);
  facts.head = journal_head(request_, facts.wanted, info) + '\t' +
               identity_line({{std::string(kAppendedTo), standing_->self_hash.hex()}});
  return facts;
}

std::optional<ConvertReport> AppendTarget::completed(RunInput& input, const Events& events) {
  if (!is_last_run(manifest(), input.wanted)) return std::nullopt;
  ConvertReport report = appended_before(manifest());
  if (has_newer_input(request_, input.info())) {
    events.say("the input is newer than the dataset; comparing its content");
    report.was_compared = true;
    refuse_changed_content(request_, events, format(), *input.source);
  }
  return report;
}

void AppendTarget::refuse_other_append(const std::string& head) const try {
  refuse_other_run(request_, left_, head);
} catch (const Error& error) {
  throw advised(error,
                fmt::format("run that command again to finish it, or remove '{}' to discard it",
                            printable(work_->root())));
}

void AppendTarget::refuse_taken(const SourceInfo& /*info*/, const std::string& head) const {
  if (work_) refuse_other_append(head);
  refuse_taken_names(request_.output, format(), manifest().schema);
}

void AppendTarget::plan(ConvertPlan& plan) const {
  plan.appended = counts_of(plan.manifest);
  plan.manifest = joined(*standing_, std::move(plan.manifest));
}

ShardSetWriter::Options AppendTarget::division(const Schema& schema) const {
  ShardSetWriter::Options division = ShardTarget::division(schema);
  division.lists_elements = manifest().layout.has_elements;
  division.keeps_classes = manifest().layout.has_classes;
  if (const auto label = label_of(manifest())) division.classes = {*label, manifest().classes};
  division.first_shard = manifest().shard_count;
  return division;
}

// Those of the samples that were added; of all where nobody has looked for those before.
void AppendTarget::add_duplicates(Manifest& all, const ForEachShard& standing,
                                  const ForEachShard& added, WrittenImages* written,
                                  const Events& events) const {
  if (!field_of_duplicates(all)) return;
  const std::optional<DuplicateCounts> before = all.images->duplicates;
  report_duplicates(all,
                    {.shards = {{standing_->paths, standing}, {work_->path(), added}},
                     .first_row = before ? manifest().digest.samples : 0,
                     .folder = work_->path(),
                     .list_name = list_name(kDuplicatesName, run()),
                     .memory_bytes = list_memory(request_.memory_bytes),
                     .written = written,
                     .written_from = manifest().digest.samples},
                    events);
  if (before) all.images->duplicates->add(*before);
}

// In the work folder: nothing of the dataset has changed when it ends.
void AppendTarget::complete(Conversion* conversion, ConvertReport& report, const Events& events) {
  std::optional<WrittenImages> written;
  if (conversion != nullptr) {
    conversion->finish_lists(report.manifest);
    written = conversion->take_written_images();
  } else if ((manifest().schema.has_keys || request_.is_run_again) &&
             is_last_run(manifest(), report.manifest)) {
    report = appended_before(manifest());  // these very samples
    return;
  }
  const ForEachShard standing = [&](const auto& visit) {
    for (const ManifestShard& shard : standing_->shards) visit(shard);
  };
  const ForEachShard added = [&](const auto& visit) { work_->for_each_shard(visit); };
  if (const std::optional<std::string> key =
          key_in_common(manifest(), {standing_->paths, standing},
                        {DatasetPaths(work_->path()), added}, work_->path(), events)) {
    throw Error(Code::schema, "the key is not unique: the dataset already has it")
        .for_sample(*key)
        .hint(conversion != nullptr ? "leave it out with --exclude, or rename it in the input"
                                    : "give the sample another key, or leave it out");
  }
  report.appended = counts_of(report.manifest);
  report.manifest = joined(*standing_, std::move(report.manifest));
  add_duplicates(report.manifest, standing, added, written ? &*written : nullptr, events);
  write_set_manifest(report.manifest, *work_, [&](const auto& visit) {
    standing(visit);
    added(visit);
  });
}

// Complete shards stay, which the same command continues. Keys that cannot be appended leave
// nothing, and neither does an input that has changed since it was listed: the same command then
// begins again.
void AppendTarget::stop(Code code) {
  replaces_ = code == Code::schema || code == Code::mismatch;
  ShardTarget::stop(code);
  if (code == Code::mismatch) try {
      throw;
    } catch (const Error& error) {
      throw advised(error, "run the same command again: it begins with the input as it is then");
    }
}

}  // namespace shale
