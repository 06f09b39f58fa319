#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/ops/merge.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"

namespace shale::tools {
namespace {

std::string merged_text(std::string_view verb, const MergeReport& report,
                        const MergeRequest& request) {
  const Manifest& manifest = report.manifest;
  return fmt::format("{} {} into {}: {} in {} of {} ({})\n", verb,
                     format_counted(report.parts, "part", "parts"), printable(request.output),
                     format_counted(manifest.digest.samples, "sample", "samples"),
                     format_counted(manifest.shard_count, "shard", "shards"), manifest.format,
                     payload_text(manifest));
}

// What of the input is not in the result.
std::string missing_text(const Manifest& manifest) {
  std::string text;
  if (manifest.skipped > 0)
    text += fmt::format("  skipped when the parts were written: {}{}\n",
                        format_counted(manifest.skipped, "sample", "samples"),
                        listed_in(manifest, kSkippedName));
  if (manifest.left_out.count() > 0)
    text += fmt::format("  left out: {}\n", left_out_text(manifest.left_out));
  return text;
}

std::string plan_text(const MergeReport& plan, const MergeRequest& request) {
  if (plan.was_complete)
    return fmt::format("{} is already complete: nothing would be merged\n",
                       printable(request.output));
  return merged_text("would merge", plan, request) + missing_text(plan.manifest);
}

std::string report_text(const MergeReport& report, const MergeRequest& request) {
  const Manifest& manifest = report.manifest;
  const std::string output = printable(request.output);
  std::string text;
  if (report.was_complete) {
    text = fmt::format("{} is already complete: nothing was merged\n", output);
  } else {
    text = merged_text("merged", report, request) + missing_text(manifest);
    text += fmt::format("  files: {} linked{}\n", format_count(report.linked_files),
                        report.copied_files == 0
                            ? ""
                            : fmt::format(", {} copied ({})", format_count(report.copied_files),
                                          format_size(report.copied_bytes)));
  }
  if (request.moves)
    text += "  the parts were removed\n";
  else if (report.linked_files > 0)
    text += "  the parts share these files; remove them when you like\n";
  return text + fmt::format("next: shale verify {}\n", output);
}

}  // namespace

int run_merge(const CommandLine& line, Console& console) {
  line.require_words_at_least(2);
  const std::vector<std::string>& words = line.words();
  const MergeRequest request{.parts = {words.begin(), words.end() - 1},
                             .output = words.back(),
                             .moves = line.flag("move"),
                             .proves = line.flag("verify")};
  if (line.flag("dry-run")) {
    const MergeReport plan = plan_merge(request, console.events());
    console.report(merge_facts(plan, request, true), plan_text(plan, request));
    return kDone;
  }
  const MergeReport report = merge(request, console.events());
  console.report(merge_facts(report, request, false), report_text(report, request));
  const Manifest& manifest = report.manifest;
  const bool lacks_any = manifest.skipped > 0 || manifest.left_out.count() > 0;
  return lacks_any && !report.was_complete ? kSomeSkipped : kDone;
}

}  // namespace shale::tools
