#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/format.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/ops/choose_output.hpp"
#include "shale/ops/convert.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"
#include "tools/requests.hpp"

namespace shale::tools {
namespace {

std::string_view verb_of(const ConvertReport& report) {
  if (report.is_plan) return "would write";
  return report.was_complete ? "it holds" : "wrote";
}

std::string classes_text(const Manifest& manifest) {
  if (manifest.classes.empty()) return "";
  return fmt::format(", {}", format_counted(manifest.classes.size(), "class", "classes"));
}

std::string file_text(const ConvertReport& report, const std::string& output) {
  const Manifest& manifest = report.manifest;
  if (report.verification.findings > 0)
    return fmt::format("{} was not written: it did not read back as it was written\n", output);
  const std::string what =
      is_array_name(output)
          ? array_text(manifest.schema.fields.front(), manifest.digest.samples)
          : fmt::format("{} of {}", format_counted(manifest.digest.samples, "sample", "samples"),
                        manifest.format);
  return fmt::format("{} {} {} {} ({}{}){}\n", verb_of(report), what,
                     report.was_complete ? "in" : "to", output,
                     report.is_plan && !manifest.layout.rows.has_strides() ? "about " : "",
                     format_size(report.file_bytes), classes_text(manifest));
}

std::string shards_text(const ConvertReport& report) {
  const Manifest& manifest = report.manifest;
  if (report.measured) {
    return fmt::format("would write {} in about {} of {} (about {}, estimated from {}{})\n",
                       format_counted(manifest.digest.samples, "sample", "samples"),
                       format_counted(manifest.shard_count, "shard", "shards"), manifest.format,
                       format_size(report.file_bytes),
                       format_counted(*report.measured, "sample", "samples"),
                       classes_text(manifest));
  }
  return fmt::format(
      "{} {} in {} of {} ({}{}{}){}\n", verb_of(report),
      format_counted(manifest.digest.samples, "sample", "samples"),
      format_counted(manifest.shard_count, "shard", "shards"), manifest.format,
      report.is_plan && manifest.payload_bytes > 0 ? "about " : "", payload_text(manifest),
      report.file_bytes > 0 ? ", " + format_size(report.file_bytes) + " of files" : "",
      classes_text(manifest));
}

std::string appended_text(const ConvertReport& report, const std::string& output) {
  const Manifest& manifest = report.manifest;
  const AppendedSamples& added = *report.appended;
  return fmt::format("{} {} in {}; {} {} {} in {} of {} ({}){}\n",
                     report.is_plan        ? "would append"
                     : report.was_complete ? "appended before:"
                                           : "appended",
                     format_counted(added.samples, "sample", "samples"),
                     format_counted(added.shards, "shard", "shards"), output,
                     report.is_plan ? "would hold" : "holds",
                     format_counted(manifest.digest.samples, "sample", "samples"),
                     format_counted(manifest.shard_count, "shard", "shards"), manifest.format,
                     payload_text(manifest), classes_text(manifest));
}

std::string listed_in(const Manifest& manifest, std::string_view name) {
  const std::string lists = lists_text(manifest, name);
  return lists.empty() ? "" : fmt::format(" (listed in {})", lists);
}

std::string changed_text(const ConvertReport& report) {
  const Manifest& manifest = report.manifest;
  if (manifest.transform.empty()) return "";
  std::string text = fmt::format("  image work: {}\n", image_work_text(manifest));
  if (manifest.images && !manifest.images->changed.empty())
    text += fmt::format("  images changed: {}\n", counts_text(manifest.images->changed));
  return text;
}

std::string skipped_text(const ConvertReport& report) {
  const Manifest& manifest = report.manifest;
  std::string text;
  if (report.skipped > 0) {
    const bool are_videos = manifest.schema.fields.front().kind == Kind::list;
    text += fmt::format("  skipped: {}{}\n",
                        are_videos ? format_counted(report.skipped, "bad video", "bad videos")
                                   : format_counted(report.skipped, "bad image", "bad images"),
                        listed_in(manifest, kSkippedName));
    for (const SkippedSample& sample : report.first_skipped)
      text += fmt::format("    {}: {}\n", printable(sample.key), sample.detail);
    const std::uint64_t more = report.skipped - report.first_skipped.size();
    if (report.is_one_file && more > 0)
      text += fmt::format("    and {} more\n", format_count(more));
  }
  if (manifest.skipped > report.skipped) {
    text += fmt::format("  skipped {}: {}{}\n",
                        report.appended ? "before" : "when the input dataset was written",
                        format_counted(manifest.skipped - report.skipped, "image", "images"),
                        listed_in(manifest, kSkippedName));
  }
  return text;
}

// The first one has the classes, the last one of Kinetics-400 the sources of the videos.
std::string split_lists_text(const ConvertReport& report) {
  std::string text;
  for (const WrittenList& list : report.lists) {
    const bool holds_classes = &list == &report.lists.front();
    text += fmt::format("{}{} ({})", text.empty() ? "  lists: " : ", ", list.name,
                        holds_classes ? format_counted(list.rows, "class", "classes")
                                      : format_counted(list.rows, "video", "videos"));
  }
  return text.empty() ? text : text + "\n";
}

// Of one dataset, or of one file.
std::string body_text(const ConvertReport& report, const std::string& path) {
  const Manifest& manifest = report.manifest;
  const std::string output = printable(path);
  std::string text;
  if (report.was_complete) text += complete_text(report, path);
  text += report.appended      ? appended_text(report, output)
          : report.is_one_file ? file_text(report, output)
                               : shards_text(report);
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
  text += changed_text(report);
  if (manifest.ignored > 0)
    text += fmt::format("  ignored: {}{}\n",
                        format_counted(manifest.ignored, "entry that is not a sample",
                                       "entries that are not samples"),
                        listed_in(manifest, kIgnoredName));
  text += split_lists_text(report);
  text += skipped_text(report);
  if (report.was_verified && report.verification.findings == 0)
    text += report.is_one_file ? "  verified: it reads back as it was written\n"
                               : "  verified: every byte is as it was written\n";
  if (report.verification.findings > 0) {
    text += fmt::format("  verified: {}\n",
                        format_counted(report.verification.findings, "finding", "findings"));
  }
  if (!report.index.empty()) text += fmt::format("  index: {}\n", printable(report.index));
  return text;
}

std::string report_text(const ConvertReport& report, const ConvertRequest& request) {
  std::string text;
  for (const ConvertReport& split : report.splits)
    text += fmt::format("{}: {}", split.split, body_text(split, split.output));
  if (report.splits.empty()) text = body_text(report, request.output);
  if (report.is_one_file && report.verification.findings > 0) return text;
  return text + fmt::format("next: {}\n", next_command(report, printable(request.output)));
}

// A set that was finished before is simply there: who made it was told what was skipped.
bool has_skipped(const ConvertReport& report) {
  if (report.splits.empty()) return report.skipped > 0 && !report.was_complete;
  return std::ranges::any_of(report.splits, has_skipped);
}

}  // namespace

int run_convert(const CommandLine& line, Console& console) {
  const ConvertRequest request = convert_request_of(line);
  say_limits(line, console.events());
  const ConvertReport report = convert(request, console.events());
  console.report(convert_facts(report, request.output), report_text(report, request));
  for (const Finding& finding : report.verification.first_findings) console.finding(finding);
  for (const ConvertReport& split : report.splits) {
    for (const Finding& finding : split.verification.first_findings) console.finding(finding);
  }
  if (report.verification.findings > 0) return kDamaged;
  return has_skipped(report) ? kSomeSkipped : kDone;
}

}  // namespace shale::tools
