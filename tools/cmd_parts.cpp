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
    const FoundPart &part = report.parts[i], &other = report.parts[i - 1];
    if (part.number == other.number)
      text += fmt::format("{}: {}\n", printable(part.path), twice(part, other));
  }
  if (!report.absent.empty())
    text += fmt::format("not there: {}\n", array_expression(report.absent));
  text += fmt::format("{} of {} complete\n", format_count(report.count - report.missing.size()),
                      format_counted(report.count, "part", "parts"));
  if (report.missing.empty()) return text + "next: shale merge PART... OUTPUT\n";
  const std::string which =
      report.missing.size() == 1 ? std::to_string(report.missing.front()) : "I";
  return text +
         fmt::format("next: sbatch --array={} with --part slurm/{}, or convert --part {}/{}\n",
                     array_expression(report.missing), report.count, which, report.count);
}

}  // namespace

int run_parts(const CommandLine& line, Console& console) {
  line.require_words_at_least(1);
  const PartsReport report = find_parts(line.words(), console.events());
  if (!line.flag("missing") || console.is_json()) {
    console.report(parts_facts(report), report_text(report));
  } else if (!report.missing.empty()) {
    console.print(array_expression(report.missing) + "\n");
  }
  if (report.missing.empty()) return kDone;
  return report.holds_damage() ? kDamaged : kFailed;
}

}  // namespace shale::tools
