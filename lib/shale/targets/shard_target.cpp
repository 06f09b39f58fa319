#include "shale/targets/shard_target.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/encoding/duplicates.hpp"
#include "shale/folders/metadata_rows.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/partners/file_pairs.hpp"
#include "shale/sources/open_input.hpp"
#include "shale/targets/compare_content.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/identity.hpp"

namespace shale {
namespace {

// The files beside the images are taken now, and nobody asked for them.
bool is_new_pairs(const Manifest& was, const Manifest& wanted, const ConvertRequest& request) {
  const auto has_pairs = [](const Manifest& manifest) {
    return std::ranges::any_of(manifest.options, [](const auto& option) {
      return option.first == kPairsOption || option.first == kMetadataOption;
    });
  };
  return !request.files.pairs.is_given && has_pairs(wanted) && !has_pairs(was);
}

}  // namespace

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
  (void)refuse_incomplete(request.output, true);
  report.was_complete = true;
  report.skipped = report.manifest.skipped;
  // An earlier run may have been allowed to leave out more.
  const std::uint64_t limit = request.max_errors.limit(source.manifest.samples);
  const std::uint64_t bad = report.skipped - std::min(report.skipped, source.skipped);
  if (bad <= limit) return report;
  throw Error(Code::limit, "the finished dataset left out {}, more than --max-errors allows ({})",
              bad_samples_text(bad, report.manifest.schema, report.manifest.images.has_value()),
              limit)
      .at(join_path(request.output, kSkippedName))
      .hint("fix or remove the samples that it lists, then convert again with --overwrite");
}

namespace {

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

ConvertReport compared_with_input(const ConvertRequest& request, const Events& events,
                                  const Format& format, RunInput& input) {
  const SourceInfo& info = input.info();
  if (info.is_stream) return stream_already_complete(request, events, format, *input.source);
  ConvertReport report = already_complete(request, input.wanted, info);
  const bool is_newer = has_newer_input(request, info);
  if (!is_newer && !report.was_compared) return report;
  events.say(is_newer ? "the input is newer than the dataset; comparing its content"
                      : "the input file has changed; comparing its content");
  report.was_compared = true;
  refuse_changed_content(request, events, format, *input.source);
  return report;
}

// An append that was stopped with complete shards: the same command goes on with them.
bool holds_unfinished_append(const std::string& dataset) try {
  const JournalSummary left = WorkFolder::run_left_in(dataset);
  return left.holds_lines() && left.head.find(kAppendedTo) != std::string::npos;
} catch (const Error&) {
  return false;  // there is nothing to go on with
}

// The old set stays until the new one, of so many bytes (0: not known), is complete.
void say_both_stay(const std::string& output, std::uint64_t needed, const Events& events) {
  const std::string size = needed == 0 ? "" : " (" + format_size(needed) + " of samples)";
  events.say(fmt::format("the dataset in {} stays until the new one{} is complete",
                         printable(output), size));
}

// How much is complete of a run that goes on.
void say_continuing(const WorkFolder& work, const RunState& from, const SourceInfo& source,
                    const Events& events) {
  if (from.samples == 0) return;
  if (source.is_stream) {
    return events.say(
        fmt::format("continuing: {} with {} are complete; the stream is read again up to there",
                    format_counted(work.shards(), "shard", "shards"),
                    format_counted(from.samples, "sample", "samples")));
  }
  events.say(fmt::format(
      "continuing: {} with {} of {} are complete", format_counted(work.shards(), "shard", "shards"),
      format_counted(from.samples, "sample", "samples"), format_count(source.manifest.samples)));
}

// What a run that stopped with an error leaves: complete shards, lists, journal and listing, or
// nothing where nothing could go on with it. `replaces`: there is an old set.
void leave_stopped_run(WorkFolder& work, const ConvertRequest& request, Code code,
                       bool replaces) noexcept {
  const bool was_stopped = code == Code::interrupted;
  // Of an input that has changed, or an old set that stands: no part of it stays in the way.
  const bool is_hopeless = request.overwrite && code == Code::mismatch;
  const bool holds_anything = work.holds_shards() || (was_stopped && work.holds_listing());
  if (!holds_anything || is_hopeless || (replaces && !was_stopped)) {
    work.abandon();
  } else {
    work.drop_unfinished_files();
  }
}

}  // namespace

void clear_left_of_finished(const std::string& output) noexcept {
  if (!holds_unfinished_append(output)) WorkFolder::clear_left(output);
}

ShardTarget::ShardTarget(ConvertRequest request)
    : Target(std::move(request)), set_(SetPlace::of_dataset(request_.output)) {}

void ShardTarget::look(const Events& events) {
  if (work_) left_ = find_unfinished_run(*work_, events);
  place_ = look_at(request_.output);
  refuse_strange_output(request_.output, place_);
  // Before anything is listed: it may take hours.
  if (left_.fault && !request_.overwrite) throw Error(*left_.fault);
  replaces_ = place_ == Place::dataset;
}

bool ShardTarget::is_finished() const {
  return place_ == Place::dataset && !request_.overwrite && !is_swapping(request_.output);
}

void ShardTarget::take() {
  work_.emplace(request_.output);
  was_moving_ = finish_swap(set_, *work_);
}

// Parts have as many shards each; all but the last one of a part have as many samples.
std::uint64_t samples_of_shard(std::uint64_t shards, const SourceInfo& info) {
  const auto rounded_up = [](std::uint64_t number, std::uint64_t by) {
    return number / by + (number % by == 0 ? 0 : 1);
  };
  const std::uint64_t parts = info.part ? info.part->number.count : 1;
  if (info.is_stream) {
    throw Error(Code::usage, "--shards: the number of samples of a stream is known at its end")
        .hint("pass --shard-samples, or unpack the archive");
  }
  if (shards % parts != 0) {
    throw Error(Code::usage, "--shards {} in {} parts: each part has whole shards", shards, parts)
        .hint(fmt::format("pass a multiple of {}", parts));
  }
  const std::uint64_t all = info.part ? info.part->samples : info.manifest.samples;
  const std::uint64_t of_part = rounded_up(all, parts);
  const std::uint64_t samples = std::max<std::uint64_t>(1, rounded_up(of_part, shards / parts));
  if (const std::uint64_t made = rounded_up(of_part, samples) * parts; made != shards) {
    throw Error(Code::usage, "--shards {}: {} make {} of {} each", shards,
                format_counted(all, "sample", "samples"), format_counted(made, "shard", "shards"),
                samples)
        .hint(fmt::format("pass --shards {}", made));
  }
  return samples;
}

void ShardTarget::accept(const SourceInfo& info, const Events& /*events*/) {
  if (request_.shards > 0) request_.shard_samples = samples_of_shard(request_.shards, info);
  check_schema_fits(format(), info.schema);
  refuse_unfit_samples(request_, format(), info, request_.shard_bytes);
}

PlannedRun ShardTarget::describe(const SourceInfo& info) const {
  PlannedRun facts{.wanted = wanted_manifest(request_, info), .head = {}};
  facts.head = journal_head(request_, facts.wanted, info);
  return facts;
}

std::optional<ConvertReport> ShardTarget::completed(RunInput& input, const Events& events) {
  if (!replaces_) return std::nullopt;
  const SourceInfo& info = input.info();
  const bool is_this_run =
      was_moving_ && !info.is_stream &&
      !first_difference(identity_of(read_manifest(request_.output)), identity_of(input.wanted));
  if (request_.overwrite && !is_this_run) return std::nullopt;
  ConvertReport report = compared_with_input(request_, events, format(), input);
  if (!work_ && !is_only_planned_) clear_left_of_finished(request_.output);
  return report;
}

void ShardTarget::refuse_taken(const SourceInfo& info, const std::string& head) const {
  if (work_) {
    refuse_other_run(request_, left_, head);
  } else if (place_ == Place::unfinished && !request_.overwrite) {
    refuse_other_run(request_, {.journal = WorkFolder::run_left_in(request_.output), .state = {}},
                     head);
  }
  if (place_ != Place::absent) refuse_taken_names(request_.output, format(), info.schema);
}

std::optional<RunState> ShardTarget::begin(const RunInput& input, const Events& events) {
  const SourceInfo& source = input.info();
  std::optional<RunState> from = resumption_of(request_, left_, input.head);
  if (!from) {
    work_->clear();
    left_ = {};
  }
  if (replaces_) say_both_stay(request_.output, source.manifest.bytes, events);
  (void)require_space(source, events);
  say_about(source, events);
  work_->keep_new_listing();
  if (!from) {
    work_->begin(input.head);
    return from;
  }
  work_->resume(left_.journal);
  say_continuing(*work_, *from, source, events);
  return from;
}

std::string_view ShardTarget::space_hint() const {
  return replaces_ ? kSpaceForBothHint : kSpaceHint;
}

void ShardTarget::say_about(const SourceInfo& source, const Events& events) const {
  say_notes(source, events);
  say_how_reals_are_kept(format(), source, events);
  const auto lost = format().classes ? why_classes_are_lost(format(), source) : std::nullopt;
  if (lost) events.say(*lost + ": only dataset.json has them");
}

ShardSetWriter::Options ShardTarget::division(const Schema& /*schema*/) const {
  return {.limit_bytes = request_.shard_bytes, .limit_samples = request_.shard_samples};
}

void ShardTarget::complete(Conversion* conversion, ConvertReport& report, const Events& events) {
  Manifest& manifest = report.manifest;
  if (conversion != nullptr) {
    conversion->finish_lists(manifest);
    std::optional<WrittenImages> written = conversion->take_written_images();
    report_duplicates(
        manifest,
        {.shards = {{work_->path(), [&](const auto& visit) { work_->for_each_shard(visit); }}},
         .folder = work_->path(),
         .list_name = std::string(kDuplicatesName),
         .memory_bytes = list_memory(request_.memory_bytes),
         .written = written ? &*written : nullptr},
        events);
  }
  write_set_manifest(manifest, *work_);
}

void ShardTarget::place(ConvertReport& /*report*/) {
  put_in_place(set_, *work_);
  work_->remove();
}

void ShardTarget::leave(Code code) noexcept {
  (void)remove_file(work_->new_listing_path());
  const bool is_stopped = code == Code::interrupted;
  if (!left_.is_worth_keeping() && !(is_stopped && work_->holds_listing())) work_->abandon();
}

void ShardTarget::stop(Code code) {
  leave_stopped_run(*work_, request_, code, replaces_);
  if (code != Code::interrupted || !work_->holds_shards()) return;
  throw Error(Code::interrupted, "interrupted: {} complete",
              format_counted(work_->shards(), "shard is", "shards are"))
      .hint("run the same command again to continue");
}

}  // namespace shale
