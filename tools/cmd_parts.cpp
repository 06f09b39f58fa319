#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/ops/parts.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"

namespace shale::tools {
namespace {

std::string report_text(const PartsReport& report) {
  std::string text;
  for (const FoundPart& part : report.parts) {
    if (part.state == PartState::complete) continue;
    text +=
        fmt::format("part {}: {}: {}{}\n", part.number.index, printable(part.path),
                    name_of(part.state), part.fault.empty() ? "" : ": " + printable(part.fault));
  }
  for (std::size_t i = 1; i < report.parts.size(); ++i) {
    if (report.parts[i].number == report.parts[i - 1].number)
      text += fmt::format("part {}: is there twice: {} and {}\n", report.parts[i].number.index,
                          printable(report.parts[i - 1].path), printable(report.parts[i].path));
  }
  if (!report.absent.empty())
    text += fmt::format("not there: {}\n", array_expression(report.absent));
  text += fmt::format("{} of {} complete\n", format_count(report.count - report.missing.size()),
                      format_counted(report.count, "part", "parts"));
  if (report.missing.empty()) return text + "next: shale merge PART... OUTPUT\n";
  return text +
         fmt::format("next: sbatch --array={} with --part slurm/{}, or convert --part I/{}\n",
                     array_expression(report.missing), report.count, report.count);
}

}  // namespace

void declare_parts(CommandLine& line) {
  line.add()("missing",
             "print only the numbers of the parts that are missing, unfinished or damaged, as "
             "'sbatch --array' takes them: 3,7-9");
}

int run_parts(const CommandLine& line) {
  line.require_words_at_least(1);
  const CommonOptions common = line.common();
  Progress progress(common.progress, "parts");
  const PartsReport report = find_parts(line.words(), events_for(progress, common.is_quiet));
  progress.clear();
  if (common.is_json) {
    print(parts_facts(report).dump() + "\n");
  } else if (line.flag("missing")) {
    if (!report.missing.empty()) print(array_expression(report.missing) + "\n");
  } else if (!common.is_quiet) {
    print(report_text(report));
  }
  if (report.missing.empty()) return kDone;
  return report.holds_damage() ? kDamaged : kFailed;
}

}  // namespace shale::tools
