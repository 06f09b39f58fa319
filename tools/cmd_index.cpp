#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/ops/rebuild_index.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"

namespace shale::tools {
namespace {

std::string report_text(const RebuildReport& report, std::string_view dataset) {
  std::string text;
  for (const RebuiltShard& shard : report.shards) {
    if (shard.was_whole) continue;
    if (!shard.fault.empty()) {
      text += fmt::format("{}: cannot be vouched for: {}\n", shard.name, shard.fault);
      continue;
    }
    text += fmt::format("{}: made {}{}{} anew, byte for byte as the manifest has {}\n", shard.name,
                        shard.index_written ? "the index" : "",
                        shard.index_written && shard.blocks_written ? " and " : "",
                        shard.blocks_written ? "the block list" : "",
                        shard.index_written && shard.blocks_written ? "them" : "it");
  }
  return text + fmt::format("{}: {} whole before, {} made anew, {} damaged\n", printable(dataset),
                            format_counted(report.whole, "shard was", "shards were"),
                            report.rebuilt, report.failed);
}

}  // namespace

int run_index(const std::vector<std::string>& words) {
  CommandLine line(commands()[5], kProgressOptions);
  if (!line.parse(words)) return kDone;
  line.require_words(1);
  const CommonOptions common = line.common();
  Progress progress(common.progress, "index");
  const RebuildReport report =
      rebuild_index(line.words()[0], events_for(progress, common.is_quiet));
  progress.clear();
  if (common.is_json) {
    print(rebuild_facts(report).dump() + "\n");
  } else if (!common.is_quiet) {
    print(report_text(report, line.words()[0]));
  }
  return report.failed > 0 ? kDamaged : kDone;
}

}  // namespace shale::tools
