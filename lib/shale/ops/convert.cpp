#include "shale/ops/convert.hpp"

#include <algorithm>
#include <utility>

#include "shale/archives/tar_stream.hpp"
#include "shale/arrays/array_columns.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/encoding/encode_pipeline.hpp"
#include "shale/folders/file_pairs.hpp"
#include "shale/folders/metadata_rows.hpp"
#include "shale/format/format.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/io/free_space.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/labels/class_table.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/ops/append.hpp"
#include "shale/ops/compare_content.hpp"
#include "shale/ops/split_sets.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/targets/class_files.hpp"
#include "shale/targets/coclr_k400.hpp"
#include "shale/targets/coclr_lists.hpp"
#include "shale/targets/conversion.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/duplicates.hpp"
#include "shale/targets/file_output.hpp"
#include "shale/targets/identity.hpp"
#include "shale/targets/one_file.hpp"
#include "shale/targets/resumption.hpp"
#include "shale/targets/space_check.hpp"

namespace shale {
namespace {

// What does not decode has no pixels, and bytes are not among them.
void refuse_kept_raw(const ConvertRequest& request) {
  const bool is_raw = std::ranges::any_of(
      request.images.encode, [](const auto& entry) { return entry.second == EncodeAs::raw; });
  if (!is_raw || request.on_error != OnError::keep) return;
  throw Error(Code::usage,
              "--on-error keep with --encode raw: an image that does not decode has no pixels to "
              "keep")
      .hint("pass --on-error skip or fail");
}

// An earlier run may have been allowed to leave out more.
void refuse_too_many_skipped(const ConvertRequest& request, const SourceInfo& source,
                             std::uint64_t skipped) {
  const std::uint64_t limit = request.max_errors.limit(source.manifest.samples);
  const std::uint64_t bad = skipped - std::min(skipped, source.skipped);
  if (bad <= limit) return;
  throw Error(Code::limit, "the finished dataset left out {}, more than --max-errors allows ({})",
              format_counted(bad, "bad image", "bad images"), limit)
      .at(join_path(request.output, kSkippedName))
      .hint("fix or remove the images that it lists, then convert again with --overwrite");
}

// The files beside the images are taken now, and nobody asked for them.
bool is_new_pairs(const Manifest& was, const Manifest& wanted, const ConvertRequest& request) {
  const auto has_pairs = [](const Manifest& manifest) {
    return std::ranges::any_of(manifest.options, [](const auto& option) {
      return option.first == kPairsOption || option.first == kMetadataOption;
    });
  };
  return !request.files.pairs.is_given && has_pairs(wanted) && !has_pairs(was);
}

// The output is a finished set: of this very command, or of another one.
ConvertReport already_complete(const ConvertRequest& request, const Manifest& wanted,
                               const SourceInfo& source) {
  ConvertReport report;
  report.manifest = read_manifest(request.output);
  report.was_compared = has_other_content(report.manifest.source, wanted.source);
  if (report.was_compared) report.manifest.source.fingerprint = wanted.source.fingerprint;
  if (const std::optional<std::string> difference =
          first_difference(identity_of(report.manifest), identity_of(wanted))) {
    throw Error(Code::exists, "already holds a finished dataset of another command: {}",
                *difference)
        .at(request.output)
        .hint(is_new_pairs(report.manifest, wanted, request)
                  ? "pass --pairs off, as before, or --overwrite to replace it"
                  : "choose another output, or pass --overwrite to replace it");
  }
  (void)refuse_incomplete(request.output);
  report.was_complete = true;
  report.skipped = report.manifest.skipped;
  refuse_too_many_skipped(request, source, report.skipped);
  return report;
}

// Of a stream, which is known at its end: read to there, and compared sample by sample.
ConvertReport stream_already_complete(const ConvertRequest& request, const Events& events,
                                      const Format& format, Source& source) {
  // Another command shows beforehand.
  Manifest wanted = wanted_manifest(request, source.info());
  const Manifest was = read_manifest(request.output);
  if (was.source.kind == wanted.source.kind) {
    wanted.source = was.source;
    for (auto& option : wanted.options) {
      if (option.first != kLabelsOption) continue;
      for (const auto& before : was.options) {
        if (before.first == option.first) option = before;
      }
    }
  }
  (void)already_complete(request, wanted, source.info());
  events.say("reading the stream, to compare it with the dataset");
  refuse_changed_content(request, events, format, source);
  ConvertReport report =
      already_complete(request, wanted_manifest(request, source.info()), source.info());
  report.was_compared = true;
  return report;
}

ShardSetWriter::Options shards_of(const ConvertRequest& request) {
  return {.limit_bytes = request.shard_bytes, .limit_samples = request.shard_samples};
}

ShardSetWriter::Options division_of(const ConvertRequest& request, const Schema& schema) {
  return is_by_class(request) ? division_by_class(schema) : shards_of(request);
}

void refuse_taken_place(const ConvertRequest& request, Place place) {
  if (is_by_class(request)) return refuse_taken_by_class(request, place);
  refuse_strange_output(request.output, place);
}

// An output directory, held by this run, with what an earlier one left in it.
struct TakenOutput {
  TakenOutput(const ConvertRequest& request, const Events& events)
      : work(request.output), set(SetPlace::of_dataset(request.output)) {
    was_swapping = is_by_class(request) ? finish_moves(request, work) : finish_swap(set, work);
    place = look_at(request.output);
    if (was_swapping && is_by_class(request)) {
      left.journal = work.previous_run();  // its shards are in their places
    } else {
      left = find_unfinished_run(work, events);
    }
  }
  [[nodiscard]] bool replaces() const { return place == Place::dataset; }

  WorkFolder work;
  const SetPlace set;
  bool was_swapping = false;
  Place place = Place::absent;
  UnfinishedRun left;
};

// The input, and what a finished set would say of it.
struct OpenedInput {
  std::unique_ptr<Source> source;
  Manifest wanted;
  std::string head;  // of the journal
};

OpenedInput open_for(ConvertRequest request, const TakenOutput& output, const Format& format,
                     bool uses_listing, const Events& events) {
  if (uses_listing) request.files.listing.stored = output.work.listing_path();
  request.files.listing.written = output.work.new_listing_path();
  (void)remove_file(request.files.listing.written);  // what a kill left
  OpenedInput input;
  input.source = open_input(request, output.work.path(), events);
  const SourceInfo& info = input.source->info();
  check_schema_fits(format, info.schema);
  refuse_unfit_samples(request, format, info, request.shard_bytes);
  input.wanted = wanted_manifest(request, info);
  input.head = journal_head(request, input.wanted, info);
  return input;
}

// A listing that is damaged ends a run that may not be discarded.
OpenedInput open_by_listing(const ConvertRequest& request, const TakenOutput& output,
                            const Format& format, bool has_listing, const Events& events) {
  try {
    return open_for(request, output, format, has_listing, events);
  } catch (const Error& error) {
    const bool is_of_listing =
        has_listing && error.code() == Code::damaged && error.file() == output.work.listing_path();
    if (!is_of_listing || !request.overwrite) throw;
  }
  return open_for(request, output, format, false, events);
}

// By the listing of the run that is continued, if it is of this very command: a new run lists the
// folder as it is now.
OpenedInput open_or_continue(const ConvertRequest& request, const TakenOutput& output,
                             const Format& format, const Events& events) {
  const UnfinishedRun& left = output.left;
  const bool has_listing = asks_to_continue(request, left) && output.work.holds_listing();
  OpenedInput input = open_by_listing(request, output, format, has_listing, events);
  const bool is_refused = left.journal.holds_lines() && !request.overwrite;
  if (!has_listing || is_refused || is_head_of(left, input.head)) return input;
  input.source.reset();
  return open_for(request, output, format, false, events);
}

// Goes on with what an earlier run left, or begins.
std::optional<RunState> begin_run(const ConvertRequest& request, TakenOutput& output,
                                  const Format& format, const OpenedInput& input,
                                  const Events& events) {
  const SourceInfo& source = input.source->info();
  WorkFolder& work = output.work;
  std::optional<RunState> from = resumption_of(request, output.left, input.head);
  if (!from) {
    work.clear();
    output.left = {};
  }
  if (output.replaces()) say_both_stay(request.output, source.manifest.bytes, events);
  require_space(request, format, source, division_of(request, source.schema), work,
                output.replaces() ? kSpaceForBothHint : kSpaceHint, events);
  if (is_by_class(request)) {
    for (const std::string& note : source.notes) events.say(note);
  } else {
    say_notes(source, events);
  }
  work.keep_new_listing();
  if (!from) {
    work.begin(input.head);
    return from;
  }
  work.resume(output.left.journal);
  say_continuing(work, *from, source, events);
  return from;
}

// A run by class that was killed when all of its samples were there is finished by now.
std::optional<ConvertReport> completed_by_class(const ConvertRequest& request, TakenOutput& output,
                                                OpenedInput& input) {
  if (!output.was_swapping) return std::nullopt;
  if (is_head_of(output.left, input.head)) {
    ConvertReport report = report_by_class(request, output.work, std::move(input.wanted));
    input.source.reset();
    output.work.drop_journal();
    output.work.remove();
    return report;
  }
  output.left = {};  // it was of another command, and there is nothing left of it to go on with
  if (!request.overwrite) throw already_exists(request.output);
  return std::nullopt;
}

// All that comes behind the shards.
void finish_set(const ConvertRequest& request, const Events& events, const Format& format,
                WorkFolder& work, Conversion& conversion, Manifest& manifest) {
  conversion.finish_lists(manifest);
  std::optional<WrittenImages> written = conversion.take_written_images();
  report_duplicates(
      manifest,
      {.shards = {{work.path(), [&](const auto& visit) { work.for_each_shard(visit); }}},
       .folder = work.path(),
       .list_name = std::string(kDuplicatesName),
       .memory_bytes = list_memory(request.memory_bytes),
       .written = written ? &*written : nullptr},
      events);
  write_set_manifest(manifest, format, work);
}

// What was decided before the lock was taken may be wrong by now: all is looked at again.
ConvertReport convert_into(const ConvertRequest& request, const Events& events,
                           const Format& format) {
  TakenOutput output(request, events);
  WorkFolder& work = output.work;
  OpenedInput input;
  std::optional<RunState> from;
  try {
    refuse_taken_place(request, output.place);
    // Before anything is listed: it may take hours.
    if (output.left.fault && !request.overwrite) throw Error(*output.left.fault);
    input = open_or_continue(request, output, format, events);
    const SourceInfo& info = input.source->info();
    if (is_by_class(request)) {
      refuse_for_stream(*input.source, request.inputs.front(), "--layout " + request.layout);
      if (std::optional<ConvertReport> done = completed_by_class(request, output, input))
        return std::move(*done);
      refuse_unfit_classes(request, info);
    }
    const bool is_this_run =
        !is_by_class(request) && output.was_swapping && !info.is_stream &&
        !first_difference(identity_of(read_manifest(request.output)), identity_of(input.wanted));
    if (output.replaces() && (is_this_run || !request.overwrite)) {
      ConvertReport report = info.is_stream
                                 ? stream_already_complete(request, events, format, *input.source)
                                 : already_complete(request, input.wanted, info);
      if (report.was_compared && !info.is_stream)
        refuse_changed_content(request, events, format, *input.source);
      input.source.reset();
      work.remove();
      return report;
    }
    refuse_other_run(request, output.left, input.head);
    if (!is_by_class(request)) refuse_taken_names(request.output, format, info.schema);
    from = begin_run(request, output, format, input, events);
    if (is_by_class(request)) {
      const Schema schema = info.schema;
      input.source.reset();
      input.source = open_by_class(request, schema, work, events);
    }
  } catch (...) {
    input.source.reset();
    (void)remove_file(work.new_listing_path());
    const bool is_stopped = code_in_flight() == Code::interrupted;
    if (!output.left.is_worth_keeping() && !(is_stopped && work.holds_listing())) work.abandon();
    throw;
  }
  ConvertReport report;
  try {
    Conversion conversion(request, events, format, *input.source, work,
                          division_of(request, input.source->info().schema), from);
    conversion.run();
    report = conversion.finish(std::move(input.wanted));
    if (!is_by_class(request))
      finish_set(request, events, format, work, conversion, report.manifest);
  } catch (...) {
    input.source.reset();
    const Code code = code_in_flight();
    leave_stopped_run(work, request, code, output.replaces());
    if (code == Code::interrupted && work.holds_shards()) throw interrupted_with(work.shards());
    throw;
  }
  input.source.reset();  // before the folder that its scratch files are in
  if (is_by_class(request)) {
    finish_by_class(request, work, report);
  } else {
    put_in_place(output.set, work);
    work.remove();
  }
  return report;
}

ConvertReport convert_one(const ConvertRequest& request, const Events& events) {
  if (format_of_output(request.output) != nullptr) return convert_into_file(request, events);
  ConvertReport report;
  if (request.is_append) {
    refuse_nested({request.output}, inputs_of(request));
    report = append_to_dataset(request, events);
    if (request.verify && !request.is_dry_run) verify_output(request, report, events);
    return report;
  }
  const Format& format = format_named(request.format);
  const Place place = look_at(request.output);
  refuse_taken_place(request, place);
  refuse_nested({request.output}, inputs_of(request));
  const bool is_finished =
      place == Place::dataset && !request.overwrite && !is_swapping(request.output);
  if (request.is_dry_run || is_finished) {
    // Nothing may be written to the output: the list of files spills to the temporary folder if it
    // must.
    const std::unique_ptr<Source> source = open_input(request, temporary_folder(), events);
    if (request.is_dry_run) refuse_for_pipe(*source, request.inputs.front(), "--dry-run");
    check_schema_fits(format, source->info().schema);
    if (is_by_class(request)) {
      refuse_for_stream(*source, request.inputs.front(), "--layout " + request.layout);
      refuse_unfit_classes(request, source->info());
    }
    Manifest wanted = wanted_manifest(request, source->info());
    if (is_finished && source->info().is_stream) {
      report = stream_already_complete(request, events, format, *source);
    } else if (is_finished) {
      report = already_complete(request, wanted, source->info());
      const bool is_newer = has_newer_input(request, source->info());
      if (is_newer || report.was_compared) {
        events.say(is_newer ? "the input is newer than the dataset; comparing its content"
                            : "the input file has changed; comparing its content");
        report.was_compared = true;
        refuse_changed_content(request, events, format, *source);
      }
    } else {
      report = plan_conversion(request, format, *source, std::move(wanted),
                               {request.shard_bytes, request.shard_samples});
      if (is_by_class(request)) plan_by_class(report);
    }
    if (is_finished && !request.is_dry_run && !holds_unfinished_append(request.output))
      WorkFolder::clear_left(request.output);
  } else {
    report = convert_into(request, events, format);
  }
  if (request.verify && !request.is_dry_run) verify_output(request, report, events);
  return report;
}

}  // namespace

ConvertReport convert(const ConvertRequest& request, const Events& events) {
  refuse_unfit_split(request);
  refuse_kept_raw(request);
  if (request.layout == kCoclrK400) return convert_for_k400(request, events);
  if (std::optional<ConvertReport> splits = convert_splits(request, events, convert_one))
    return std::move(*splits);
  return convert_one(request, events);
}

}  // namespace shale
