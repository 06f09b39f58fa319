#include "shale/ops/append.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "shale/archives/tar_stream.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/encoding/transform.hpp"
#include "shale/format/format.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/ops/compare_content.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/sources/numbered_source.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/targets/appended_keys.hpp"
#include "shale/targets/conversion.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/duplicates.hpp"
#include "shale/targets/identity.hpp"
#include "shale/targets/resumption.hpp"
#include "shale/targets/space_check.hpp"

namespace shale {
namespace {

constexpr std::string_view kSeveralKinds = "several inputs";

// The dataset that stands.
struct StandingDataset {
  explicit StandingDataset(const std::string& output)
      : paths(output),
        shards(open_shard_list(paths)),
        self_hash(Hash128::from_hex(self_hash_of(InputFile(paths.manifest))).value()) {}
  [[nodiscard]] const Manifest& manifest() const { return shards.manifest(); }

  DatasetPaths paths;
  ShardList shards;
  Hash128 self_hash;
};

Error cannot_append(const std::string& output, const std::string& why) {
  return Error(Code::mismatch, "cannot be appended to: {}", why).at(output);
}

void refuse_options(const ConvertRequest& request) {
  const std::string_view option = request.overwrite                       ? "--overwrite"
                                  : request.order.part                    ? "--part"
                                  : !request.files.listing.shared.empty() ? "--listing"
                                  : !request.classes.from.empty()         ? "--classes-from"
                                                                          : "";
  if (!option.empty()) throw excluded_by_append(option, request.output);
}

// Errors: Code::not_found, Code::mismatch for what is not a finished dataset.
void require_dataset(const std::string& output) {
  const Place place = look_at(output);
  if (place == Place::dataset) return;
  if (place == Place::unfinished) throw unfinished(output);
  if (place == Place::other_file || place == Place::other_folder)
    refuse_strange_output(output, place);
  throw Error(Code::not_found, "holds no dataset to append to")
      .at(output)
      .hint("leave out --append to begin one");
}

// A new manifest says that all of the dataset is whole: what is small is proved, the rest has its
// size.
void refuse_damaged(const std::string& output) {
  prove_other_files(DatasetPaths(output), refuse_incomplete(output));
}

void refuse_unfit_set(const ConvertRequest& request, const Manifest& manifest) {
  if (manifest.part) {
    throw cannot_append(request.output, fmt::format("it is part {} of {} of a run",
                                                    manifest.part->index, manifest.part->count))
        .hint("merge the parts, and append to the result");
  }
  (void)format_of(manifest);
  if (!request.format.empty() && request.format != manifest.format) {
    throw cannot_append(request.output, fmt::format("its format is {}, and --to says {}",
                                                    manifest.format, request.format))
        .hint("leave out --to");
  }
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
  refuse_unfit_set(asked, manifest);
  ConvertRequest request = asked;
  const ConvertRequest defaults;
  request.format = manifest.format;
  if (request.shard_bytes == 0)
    request.shard_bytes = number_option(manifest, "shard_size", defaults.shard_bytes);
  if (request.shard_samples == 0)
    request.shard_samples = number_option(manifest, "shard_samples", defaults.shard_samples);
  request.classes.extends_set = !manifest.classes.empty();
  if (request.classes.extends_set) request.classes.from = request.output;
  return request;
}

std::string fields_of(const Schema& schema) {
  std::string text;
  for (const Field& field : schema.fields) text += (text.empty() ? "" : ", ") + field_text(field);
  return text;
}

void refuse_other_fields(const std::string& output, const Schema& was, const SourceInfo& input) {
  const Schema& is = input.schema;
  if (was.fields != is.fields) {
    throw cannot_append(output, fmt::format("its fields are {}, those of the input {}",
                                            fields_of(was), fields_of(is)))
        .hint(input.pairs.empty() && input.metadata.empty()
                  ? "choose another output, or the same fields in the same order (--fields)"
                  : "choose another output, or pass --pairs off to leave out the files beside the "
                    "images");
  }
  if (was.has_keys == is.has_keys) return;
  constexpr std::string_view kNames = "names", kNumbers = "numbers";
  throw cannot_append(
      output, fmt::format("its keys are {}, those of the input {}",
                          was.has_keys ? kNames : kNumbers, is.has_keys ? kNames : kNumbers))
      .hint("choose another output");
}

std::string text_of(const std::vector<ManifestTransform>& transform) {
  std::string text;
  for (const ManifestTransform& each : transform)
    text += (text.empty() ? "" : "; ") + text_of(each);
  return text.empty() ? "none" : text;
}

// All samples of a set are made by one rule, and by one codec.
void refuse_other_image_work(const std::string& output, const std::vector<ManifestTransform>& was,
                             const SourceInfo& source) {
  const std::vector<ManifestTransform> is =
      source.transform ? source.transform->recorded() : std::vector<ManifestTransform>();
  if (was == is) return;
  const std::string before = text_of(was), now = text_of(is);
  if (before != now) {
    throw cannot_append(output,
                        fmt::format("its image work is {}, that of the command {}", before, now))
        .hint(was.empty() ? "leave out the options of image work, or choose another output"
                          : "pass the options that the dataset was made with");
  }
  throw cannot_append(output, fmt::format("its images were made by other codecs: {}",
                                          other_codec(was).value_or("of another version")))
      .hint("use the version of shale that wrote it, or convert everything again");
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
        .hint("convert what the input was made from, with --append");
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

std::unique_ptr<Source> open_added(const ConvertRequest& request, const Manifest& manifest,
                                   const std::string& scratch_folder, const Events& events) {
  std::unique_ptr<Source> source = open_input(request, scratch_folder, events);
  refuse_for_stream(*source, request.inputs.front(), "--append");
  const Schema& schema = source->info().schema;
  refuse_other_fields(request.output, manifest.schema, source->info());
  refuse_other_image_work(request.output, manifest.transform, source->info());
  if (!schema.has_keys) source = make_numbered_source(std::move(source), manifest.digest.samples);
  refuse_unfit_samples(request, format_named(request.format), source->info(), request.shard_bytes);
  return source;
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

void add_images(std::optional<ImageReport>& to, const std::optional<ImageReport>& more) {
  if (!more) return;
  if (!to) to.emplace();
  to->add(*more);
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

Manifest joined(const StandingDataset& standing, Manifest added) {
  Manifest all = standing.manifest();
  if (all.runs.empty()) all.runs.push_back(only_run(all));
  all.runs.push_back(only_run(added));
  all.runs.back().after = standing.self_hash;
  all.generator = added.generator;
  all.classes = std::move(added.classes);
  all.source = sum_of(all.runs);
  all.skipped += added.skipped;
  all.ignored += added.ignored;
  add_images(all.images, added.images);
  all.digest.append(added.digest);
  all.payload_bytes += added.payload_bytes;
  all.shard_count += added.shard_count;
  // What a format's own readers want is made again, of the whole set.
  if (format_of(all).write_native_index != nullptr)
    std::erase_if(all.files, [](const ManifestFile& file) { return !is_dataset_file(file.name); });
  all.files.insert(all.files.end(), added.files.begin(), added.files.end());
  return all;
}

AppendedSamples counts_of(const Manifest& manifest) {
  return {.samples = manifest.digest.samples,
          .shards = manifest.shard_count,
          .payload_bytes = manifest.payload_bytes};
}

ConvertReport already_appended(const ConvertRequest& request, const Events& events,
                               const StandingDataset& standing, Source& source) {
  ConvertReport report;
  report.manifest = standing.manifest();
  report.was_complete = true;
  const ManifestRun& last = report.manifest.runs.back();
  report.appended = AppendedSamples{.samples = last.samples, .shards = last.shards};
  if (has_newer_input(request, source.info())) {
    events.say("the input is newer than the dataset; comparing its content");
    report.was_compared = true;
    refuse_changed_content(request, events, format_named(request.format), source);
  }
  return report;
}

ConvertReport plan_append(const ConvertRequest& asked, const Events& events) {
  require_dataset(asked.output);
  refuse_damaged(asked.output);
  const StandingDataset standing(asked.output);
  const ConvertRequest request = request_for(asked, standing.manifest());
  const std::unique_ptr<Source> source =
      open_added(request, standing.manifest(), temporary_folder(), events);
  Manifest wanted = wanted_manifest(request, source->info());
  wanted.classes = joined_classes(request, standing.manifest(), wanted.classes);
  if (is_last_run(standing.manifest(), wanted))
    return already_appended(request, events, standing, *source);
  ConvertReport report =
      plan_conversion(request, format_named(request.format), *source, std::move(wanted),
                      {request.shard_bytes, request.shard_samples});
  report.appended = counts_of(report.manifest);
  report.manifest = joined(standing, std::move(report.manifest));
  return report;
}

// An append under way: the dataset, held by this run, with what an earlier one left beside it.
struct Appending {
  Appending(const ConvertRequest& asked, WorkFolder& folder, const Events& events)
      : standing(asked.output),
        request(request_for(asked, standing.manifest())),
        format(format_named(request.format)),
        run(std::max<std::uint64_t>(standing.manifest().runs.size(), 1)),
        work(folder) {
    work.number_shards_from(standing.manifest().shard_count);
    left = find_unfinished_run(work, events, run);
  }
  [[nodiscard]] ShardSetWriter::Options division() const {
    return {.limit_bytes = request.shard_bytes,
            .limit_samples = request.shard_samples,
            .lists_elements = standing.manifest().layout.has_elements,
            .first_shard = standing.manifest().shard_count};
  }

  const StandingDataset standing;
  const ConvertRequest request;
  const Format& format;
  const std::uint64_t run;  // of those that write the dataset, from 0
  WorkFolder& work;
  UnfinishedRun left;
  std::unique_ptr<Source> source;
  Manifest wanted;
  std::string head;  // of the journal
};

void open_appended(Appending& appending, bool uses_listing, const Events& events) {
  ConvertRequest request = appending.request;
  if (uses_listing) request.files.listing.stored = appending.work.listing_path();
  request.files.listing.written = appending.work.new_listing_path();
  (void)remove_file(request.files.listing.written);  // what a kill left
  const Manifest& was = appending.standing.manifest();
  appending.source = open_added(request, was, appending.work.path(), events);
  appending.wanted = wanted_manifest(request, appending.source->info());
  appending.wanted.classes = joined_classes(request, was, appending.wanted.classes);
  appending.head = journal_head(request, appending.wanted, appending.source->info()) + '\t' +
                   identity_line({{std::string(kAppendedTo), appending.standing.self_hash.hex()}});
}

// The hint of a conversion may name --overwrite, which no append takes.
Error advised(const Error& error, const std::string& hint) {
  Error again(error.code(), "{}", error.message());
  if (error.sample()) again.for_sample(error.sample()->key, error.sample()->index);
  if (!error.cause().empty()) again.because(error.cause());
  return again.at(error.file(), error.offset()).hint(hint);
}

void refuse_other_append(const Appending& appending) try {
  refuse_other_run(appending.request, appending.left, appending.head);
} catch (const Error& error) {
  throw advised(error,
                fmt::format("run that command again to finish it, or remove '{}' to discard it",
                            printable(appending.work.root())));
}

// Goes on with what an earlier run left, or begins.
std::optional<RunState> begin_append(Appending& appending, const Events& events) {
  WorkFolder& work = appending.work;
  refuse_other_append(appending);
  refuse_taken_names(appending.request.output, appending.format,
                     appending.standing.manifest().schema);
  std::optional<RunState> from = resumption_of(appending.request, appending.left, appending.head);
  if (!from) work.clear();
  require_space(appending.request, appending.format, appending.source->info(), appending.division(),
                work, kSpaceHint, events);
  say_notes(appending.source->info(), events);
  work.keep_new_listing();
  if (!from) {
    work.begin(appending.head);
    return from;
  }
  work.resume(appending.left.journal);
  say_continuing(work, *from, appending.source->info(), events);
  return from;
}

// Those of the samples that were added; of all where nobody has looked for those before.
void add_duplicates(Manifest& manifest, const Appending& appending, const ForEachShard& added,
                    WrittenImages* written, const Events& events) {
  if (!field_of_duplicates(manifest)) return;
  const StandingDataset& standing = appending.standing;
  const std::optional<DuplicateCounts> before = manifest.images->duplicates;
  const ForEachShard first = [&](const auto& visit) {
    for (const ManifestShard& shard : standing.shards) visit(shard);
  };
  const std::string& folder = appending.work.path();
  report_duplicates(manifest,
                    {.shards = {{standing.paths, first}, {folder, added}},
                     .first_row = before ? standing.manifest().digest.samples : 0,
                     .folder = folder,
                     .list_name = list_name(kDuplicatesName, appending.run),
                     .memory_bytes = list_memory(appending.request.memory_bytes),
                     .written = written,
                     .written_from = standing.manifest().digest.samples},
                    events);
  if (before) manifest.images->duplicates->add(*before);
}

// The run, in the work folder; nothing of the dataset has changed when it ends.
ConvertReport write_behind(Appending& appending, const std::optional<RunState>& from,
                           const Events& events) {
  const StandingDataset& standing = appending.standing;
  const WorkFolder& work = appending.work;
  ConvertReport report;
  std::optional<WrittenImages> written;
  {
    Conversion conversion(appending.request, events, appending.format, *appending.source,
                          appending.work, appending.division(), from, appending.run);
    conversion.run();
    report = conversion.finish(std::move(appending.wanted));
    conversion.finish_lists(report.manifest);
    written = conversion.take_written_images();
  }
  const ForEachShard added = [&](const auto& visit) { work.for_each_shard(visit); };
  refuse_standing_keys(standing.paths, standing.shards, DatasetPaths(work.path()), added, events);
  report.appended = counts_of(report.manifest);
  report.manifest = joined(standing, std::move(report.manifest));
  add_duplicates(report.manifest, appending, added, written ? &*written : nullptr, events);
  write_set_manifest(report.manifest, appending.format, work, [&](const auto& visit) {
    for (const ManifestShard& shard : standing.shards) visit(shard);
    added(visit);
  });
  return report;
}

// What an append that stopped leaves: complete shards, which the same command continues. Keys that
// cannot be appended leave nothing, and neither does an input that has changed since it was listed:
// the same command then begins again.
ConvertReport write_or_leave(Appending& appending, const std::optional<RunState>& from,
                             const Events& events) try {
  return write_behind(appending, from, events);
} catch (const Error& error) {
  appending.source.reset();
  const Code code = error.code();
  leave_stopped_run(appending.work, appending.request, code,
                    code == Code::schema || code == Code::mismatch);
  if (code == Code::interrupted && appending.work.holds_shards())
    throw interrupted_with(appending.work.shards());
  if (code == Code::mismatch)
    throw advised(error, "run the same command again: it begins with the input as it is then");
  throw;
} catch (...) {
  leave_stopped_run(appending.work, appending.request, Code::bug, false);
  throw;
}

ConvertReport append_into(const ConvertRequest& asked, const Events& events) {
  if (!is_swapping(asked.output)) require_dataset(asked.output);
  WorkFolder work(asked.output);
  const SetPlace set = SetPlace::of_dataset(asked.output);
  (void)finish_swap(set, work);
  std::optional<Appending> appending;
  std::optional<RunState> from;
  try {
    require_dataset(asked.output);
    refuse_damaged(asked.output);
    appending.emplace(asked, work, events);
    if (appending->left.fault) refuse_other_append(*appending);
    const bool has_listing = !appending->left.journal.head.empty() && work.holds_listing();
    open_appended(*appending, has_listing, events);
    // Another run that has written nothing is in nobody's way, but its list is.
    if (has_listing && !appending->left.journal.holds_lines() &&
        !is_head_of(appending->left, appending->head)) {
      appending->source.reset();
      open_appended(*appending, false, events);
    }
    if (is_last_run(appending->standing.manifest(), appending->wanted)) {
      ConvertReport report =
          already_appended(appending->request, events, appending->standing, *appending->source);
      appending->source.reset();
      work.remove();
      return report;
    }
    from = begin_append(*appending, events);
  } catch (...) {
    const bool is_stopped = code_in_flight() == Code::interrupted;
    const bool keeps =
        appending && (appending->left.is_worth_keeping() || (is_stopped && work.holds_listing()));
    appending.reset();
    (void)remove_file(work.new_listing_path());
    if (!keeps) work.abandon();
    throw;
  }
  ConvertReport report = write_or_leave(*appending, from, events);
  appending.reset();  // before the folder that its scratch files are in
  put_in_place(set, work);
  work.remove();
  return report;
}

}  // namespace

bool holds_unfinished_append(const std::string& dataset) try {
  const JournalSummary left = WorkFolder::run_left_in(dataset);
  return left.holds_lines() && left.head.find(kAppendedTo) != std::string::npos;
} catch (const Error&) {
  return false;  // there is nothing to go on with
}

Error excluded_by_append(std::string_view option, const std::string& output) {
  Error error(Code::usage, "{} and --append exclude each other", option);
  error.at(output);
  error.hint(option == "--classes-from" ? "leave it out: the class table is that of the dataset"
             : option == "--overwrite"  ? "leave out --overwrite: an append replaces nothing"
                                        : "leave out one of the two");
  return error;
}

ConvertReport append_to_dataset(const ConvertRequest& request, const Events& events) {
  refuse_options(request);
  return request.is_dry_run ? plan_append(request, events) : append_into(request, events);
}

}  // namespace shale
