#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/archives/tar_stream.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/format.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/ops/convert.hpp"
#include "shale/requests/choose_output.hpp"
#include "shale/requests/combinations.hpp"
#include "shale/targets/conversion.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"
#include "tools/native_files.hpp"
#include "tools/requests.hpp"

namespace shale::tools {
namespace {

std::string classes_text(const Manifest& manifest) {
  if (manifest.classes.empty()) return "";
  return fmt::format(", {}", format_counted(manifest.classes.size(), "class", "classes"));
}

// Of a plan or a report; `verb`: "would write", "wrote".
std::string file_text(const ConvertOutput& output, std::string_view verb, std::string_view about,
                      const std::string& place) {
  const Manifest& manifest = output.manifest;
  const std::string what =
      output.kind == OutputKind::array
          ? array_text(manifest.schema.fields.front(), manifest.digest.samples)
          : fmt::format("{} of {}", format_counted(manifest.digest.samples, "sample", "samples"),
                        manifest.format);
  return fmt::format("{} {} {} ({}{}){}\n", verb, what, place, about,
                     format_size(output.file_bytes), classes_text(manifest));
}

std::string shards_text(const ConvertOutput& output, std::string_view verb,
                        std::string_view about) {
  const Manifest& manifest = output.manifest;
  return fmt::format(
      "{} {} in {} of {} ({}{}{}){}\n", verb,
      format_counted(manifest.digest.samples, "sample", "samples"),
      format_counted(manifest.shard_count, "shard", "shards"), manifest.format,
      manifest.payload_bytes > 0 ? about : "", payload_text(manifest),
      output.file_bytes > 0 ? ", " + format_size(output.file_bytes) + " of files" : "",
      classes_text(manifest));
}

std::string estimate_text(const ConvertPlan& plan) {
  const Manifest& manifest = plan.manifest;
  return fmt::format("would write {} in about {} of {} (about {}, estimated from {}{})\n",
                     format_counted(manifest.digest.samples, "sample", "samples"),
                     format_counted(manifest.shard_count, "shard", "shards"), manifest.format,
                     format_size(plan.file_bytes),
                     format_counted(*plan.measured, "sample", "samples"), classes_text(manifest));
}

std::string appended_text(const ConvertOutput& output, std::string_view verb,
                          std::string_view holds, const std::string& place) {
  const Manifest& manifest = output.manifest;
  const AppendedSamples& added = *output.appended;
  return fmt::format("{} {} in {}; {} {} {} in {} of {} ({}){}\n", verb,
                     format_counted(added.samples, "sample", "samples"),
                     format_counted(added.shards, "shard", "shards"), place, holds,
                     format_counted(manifest.digest.samples, "sample", "samples"),
                     format_counted(manifest.shard_count, "shard", "shards"), manifest.format,
                     payload_text(manifest), classes_text(manifest));
}

std::string changed_text(const Manifest& manifest) {
  if (manifest.transform.empty()) return "";
  std::string text = fmt::format("  image work: {}\n", image_work_text(manifest));
  if (manifest.images && !manifest.images->changed.empty())
    text += fmt::format("  images changed: {}\n", counts_text(manifest.images->changed));
  return text;
}

// The first one has the classes, the last one of Kinetics-400 the sources of the videos; one that
// is alone has the entries of the file.
std::string split_lists_text(const ConvertOutput& output) {
  std::string text;
  for (const WrittenList& list : output.lists) {
    const bool holds_classes = &list == &output.lists.front();
    text += fmt::format("{}{} ({})", text.empty() ? "  lists: " : ", ", list.name,
                        output.lists.size() == 1 ? format_counted(list.rows, "line", "lines")
                        : holds_classes          ? format_counted(list.rows, "class", "classes")
                                                 : format_counted(list.rows, "video", "videos"));
  }
  return text.empty() ? text : text + "\n";
}

std::string ignored_text(const Manifest& manifest) {
  if (manifest.ignored == 0) return "";
  return fmt::format("  ignored: {}{}\n",
                     format_counted(manifest.ignored, "entry that is not a sample",
                                    "entries that are not samples"),
                     listed_in(manifest, kIgnoredName));
}

std::string left_out_line(const Manifest& manifest) {
  if (manifest.left_out.count() == 0) return "";
  return fmt::format("  left out{}: {}\n", manifest.source.kind == kDatasetKind ? " before" : "",
                     left_out_text(manifest.left_out));
}

std::string skipped_before_text(const ConvertOutput& output, std::uint64_t skipped) {
  const Manifest& manifest = output.manifest;
  if (manifest.skipped <= skipped) return "";
  return fmt::format("  skipped {}: {}{}\n",
                     output.appended ? "before" : "when the input dataset was written",
                     format_counted(manifest.skipped - skipped, "sample", "samples"),
                     listed_in(manifest, kSkippedName));
}

std::string skipped_text(const ConvertReport& report) {
  const Manifest& manifest = report.manifest;
  std::string text;
  if (report.skipped > 0) {
    text +=
        fmt::format("  skipped: {}{}\n",
                    bad_samples_text(report.skipped, manifest.schema, manifest.images.has_value()),
                    listed_in(manifest, kSkippedName));
    for (const SkippedSample& sample : report.first_skipped)
      text += fmt::format("    {}: {}\n", printable(sample.key), sample.detail);
    const std::uint64_t more = report.skipped - report.first_skipped.size();
    if (report.is_of_files() && more > 0)
      text += fmt::format("    and {} more\n", format_count(more));
  }
  return text + skipped_before_text(report, report.skipped);
}

std::string written_text(const ConvertReport& report, const std::string& output) {
  const bool was_there = report.was_complete;
  const std::string_view verb = was_there ? "it holds" : "wrote";
  if (report.appended)
    return appended_text(report, was_there ? "appended before:" : "appended", "holds", output);
  if (!report.is_of_files()) return shards_text(report, verb, "");
  if (report.verification.findings > 0)
    return fmt::format("{} was not written: it did not read back as it was written\n", output);
  const bool is_stream = report.kind == OutputKind::stream;
  return file_text(report, verb, "", (was_there ? "in " : "to ") + (is_stream ? "stdout" : output));
}

// Of one dataset, or of one file.
std::string body_text(const ConvertReport& report, const std::string& path) {
  const Manifest& manifest = report.manifest;
  std::string text;
  if (report.was_complete) text += complete_text(report, path);
  text += written_text(report, printable(path));
  if (manifest.images && !manifest.images->types.empty()) {
    text += fmt::format("  images: {}\n", counts_text(manifest.images->types));
    if (!manifest.images->odd.empty()) {
      text += fmt::format("  odd but kept: {}{}\n", counts_text(manifest.images->odd),
                          listed_in(manifest, kImagesName));
    }
    if (manifest.images->duplicates && manifest.images->duplicates->samples > 0) {
      text += fmt::format("  duplicates: {}{}\n", duplicates_text(*manifest.images->duplicates),
                          listed_in(manifest, kDuplicatesName));
    }
  }
  text += changed_text(manifest) + ignored_text(manifest) + left_out_line(manifest);
  text += split_lists_text(report) + skipped_text(report);
  if (report.was_verified && report.verification.findings == 0)
    text += report.is_of_files() ? "  verified: it reads back as it was written\n"
                                 : "  verified: every byte is as it was written\n";
  if (report.verification.findings > 0) {
    text += fmt::format("  verified: {}\n",
                        format_counted(report.verification.findings, "finding", "findings"));
  }
  if (!report.index.empty()) text += fmt::format("  index: {}\n", printable(report.index));
  return text;
}

std::string body_text(const ConvertPlan& plan, const std::string& path) {
  if (plan.complete) return body_text(*plan.complete, path);
  const Manifest& manifest = plan.manifest;
  const std::string_view verb = "would write", about = "about ";
  // Members of an archive may be compressed.
  const std::string_view size = !manifest.layout.rows.has_strides() ? about
                                : manifest.format == "npz"          ? "at most "
                                                                    : "";
  const std::string text =
      plan.appended        ? appended_text(plan, "would append", "would hold", printable(path))
      : plan.is_of_files() ? file_text(plan, verb, size, "to " + printable(path))
      : plan.measured      ? estimate_text(plan)
                           : shards_text(plan, verb, about);
  const std::string lost =
      plan.skipped == 0 ? ""
                        : fmt::format("  would skip: {}\n",
                                      format_counted(plan.skipped, "bad sample", "bad samples"));
  return text + changed_text(manifest) + ignored_text(manifest) + left_out_line(manifest) +
         split_lists_text(plan) + lost + skipped_before_text(plan, plan.skipped);
}

// One dataset, or one file, or all splits.
template <class Output>
std::string text_of(const Output& output, const std::string& path) {
  if (output.splits.empty()) return body_text(output, path);
  std::string text;
  for (const Output& split : output.splits)
    text += fmt::format("{}: {}", split.split, body_text(split, split.output));
  return text;
}

std::string report_text(const ConvertReport& report, const std::string& output) {
  std::string text = text_of(report, output);
  if (report.is_of_files() && report.verification.findings > 0) return text;
  if (report.kind == OutputKind::stream) return text;
  return text + fmt::format("next: {}\n", next_command(report, printable(output)));
}

// As has_skipped of what the run will report.
bool will_skip(const ConvertPlan& plan) {
  if (!plan.splits.empty()) return std::ranges::any_of(plan.splits, will_skip);
  const bool leaves_out = plan.manifest.source.kind != kDatasetKind;
  return plan.skipped > 0 || (leaves_out && plan.manifest.left_out.count() > 0);
}

bool skips_too_many(const ConvertPlan& plan, const ConvertRequest& request) {
  const auto is_too_many = [&](const ConvertPlan& one) { return skips_too_many(one, request); };
  if (!plan.splits.empty()) return std::ranges::any_of(plan.splits, is_too_many);
  return plan.skipped > request.max_errors.limit(plan.manifest.source.samples);
}

// A set that was finished before is simply there: who made it was told what was skipped.
bool has_skipped(const ConvertReport& report) {
  if (report.splits.empty()) return report.skipped + report.left_out > 0 && !report.was_complete;
  return std::ranges::any_of(report.splits, has_skipped);
}

std::vector<std::string> outputs_of(const ConvertReport& report) {
  if (report.splits.empty()) return {report.output};
  std::vector<std::string> outputs;
  for (const ConvertReport& split : report.splits) outputs.push_back(split.output);
  return outputs;
}

}  // namespace

int run_convert(const CommandLine& line, Console& console) {
  ConvertRequest request = convert_request_of(line);
  const std::vector<NativeKind> native = native_kinds(line, request);
  refuse_combinations(request);
  const std::optional<KeptSamples> kept = keep_samples(request, console.events());
  if (kept) call_it(kept->file->link(), kept->stream);
  if (kept && line.flag("dry-run")) throw not_for_stream(kept->stream, "--dry-run");
  if (kind_of_output(request) == OutputKind::stream) console.report_to_stderr();
  say_limits(line, console.events());
  ConvertReport report;
  if (line.flag("dry-run")) {
    ConvertPlan plan = shale::plan(request, console.events());
    if (!plan.complete) {
      const PlannedInput input = planned_input(request, console.events());
      const bool ends_early = skips_too_many(plan, request);
      const std::string next = ends_early
                                   ? "the run would fail: these are more than --max-errors allows\n"
                                   : fmt::format("next: {}\n", kAfterPlan);
      console.report(convert_facts(plan, request.output),
                     text_of(plan, request.output) + input.text + next);
      if (ends_early) return kFailed;
      const bool has_bad_image = input.bad > 0 && request.on_error == OnError::skip;
      return will_skip(plan) || has_bad_image ? kSomeSkipped : kDone;
    }
    report = std::move(*plan.complete);
  } else {
    report = convert(request, console.events());
  }
  Json facts = convert_facts(report, request.output);
  std::string text = report_text(report, request.output);
  if (!native.empty() && report.verification.findings == 0) {
    const NativeIndexReport indexes =
        write_native_indexes({.sets = tars_of_words(outputs_of(report)),
                              .kinds = native,
                              .jobs = static_cast<unsigned>(line.jobs().value)},
                             console.events());
    facts["native"] = native_facts(indexes);
    text.insert(text.rfind("next: "), native_text(indexes, false));
  }
  console.report(facts, text);
  for (const Finding& finding : report.verification.first_findings) console.finding(finding);
  for (const ConvertReport& split : report.splits) {
    for (const Finding& finding : split.verification.first_findings) console.finding(finding);
  }
  if (report.verification.findings > 0) return kDamaged;
  return has_skipped(report) ? kSomeSkipped : kDone;
}

}  // namespace shale::tools
