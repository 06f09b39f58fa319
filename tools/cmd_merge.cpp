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

int run_merge(const CommandLine& line, Console& console) {
  line.require_words_at_least(2);
  const std::vector<std::string>& words = line.words();
  const MergeRequest request{.parts = {words.begin(), words.end() - 1},
                             .output = words.back(),
                             .moves = line.flag("move")};
  const MergeReport report = merge(request, console.events());
  console.report(merge_facts(report, request), report_text(report, request));
  return kDone;
}

}  // namespace shale::tools
