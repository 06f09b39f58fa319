#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/ops/merge.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"

namespace shale::tools {
namespace {

std::string report_text(const MergeReport& report, const MergeRequest& request) {
  const Manifest& manifest = report.manifest;
  const std::string output = printable(request.output);
  std::string text;
  if (report.was_complete) {
    text = fmt::format("{} is already complete: nothing was merged\n", output);
  } else {
    text = fmt::format("merged {} into {}: {} in {} of {} ({})\n",
                       format_counted(report.parts, "part", "parts"), output,
                       format_counted(manifest.digest.samples, "sample", "samples"),
                       format_counted(manifest.shard_count, "shard", "shards"), manifest.format,
                       payload_text(manifest));
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

void declare_merge(CommandLine& line) {
  line.add()("move", "remove the parts when the result is complete");
}

int run_merge(const CommandLine& line) {
  line.require_words_at_least(2);
  const CommonOptions common = line.common();
  MergeRequest request{.parts = line.words(), .output = line.words().back()};
  request.parts.pop_back();
  request.moves = line.flag("move");
  Progress progress(common.progress, "merge");
  const Events events = events_for(progress, common.is_quiet);
  const MergeReport report = merge(request, events);
  progress.clear();
  if (common.is_json) {
    print(merge_facts(report, request).dump() + "\n");
  } else if (!common.is_quiet) {
    print(report_text(report, request));
  }
  return kDone;
}

}  // namespace shale::tools
