#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/ops/parts.hpp"
#include "shale/shards/place.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"

namespace shale::tools {
namespace {

// "3 $(seq 7 9)".
std::string words_of(std::span<const std::uint64_t> numbers) {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
    for (end = begin + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1;) ++end;
    if (begin > 0) text += ' ';
    text += end - begin > 2
                ? fmt::format("$(seq {} {})", numbers[begin], numbers[end - 1])
                : fmt::format("{}", fmt::join(numbers.subspan(begin, end - begin), " "));
  }
  return text;
}

// The commands that write what is missing: the manifests do not say of which input.
std::string commands_for(const PartsReport& report, const std::vector<std::string>& places) {
  const bool is_directory = places.size() == 1 && look_at(places.front()) == Place::other_folder;
  const bool stands = std::ranges::any_of(report.parts, [](const FoundPart& part) {
    return part.state == PartState::damaged || part.state == PartState::other_run;
  });
  const std::string_view overwrite = stands ? " --overwrite" : "";
  const bool is_one = report.missing.size() == 1;
  const std::string command =
      fmt::format("shale convert INPUT {} --part {}/{} OPTIONS{}",
                  is_directory ? printable(places.front()) : "OUTPUT",
                  is_one ? std::to_string(report.missing.front()) : "$I", report.count, overwrite);
  return fmt::format(
      "next: {}\n"
      "  or: sbatch --array={} JOB, where JOB passes --part slurm/{}{}\n"
      "  with the INPUT and the OPTIONS of the other parts\n",
      is_one ? command : fmt::format("for I in {}; do {}; done", words_of(report.missing), command),
      array_expression(report.missing), report.count, overwrite);
}

std::string report_text(const PartsReport& report, const std::vector<std::string>& places,
                        bool is_proved) {
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
  text += fmt::format("{} of {} complete{}\n", format_count(report.count - report.missing.size()),
                      format_counted(report.count, "part", "parts"),
                      is_proved ? ": every byte of them is as it was written" : "");
  if (!report.missing.empty()) return text + commands_for(report, places);
  std::string words;
  for (const std::string& place : places) words += printable(place) + " ";
  return text + fmt::format("next: shale merge {}OUTPUT\n", words);
}

}  // namespace

int run_parts(const CommandLine& line, Console& console) {
  line.require_words_at_least(1);
  const PartsReport report = find_parts(line.words(), console.events(), line.flag("verify"));
  if (!line.flag("missing") || console.is_json()) {
    console.report(parts_facts(report), report_text(report, line.words(), line.flag("verify")));
  } else if (!report.missing.empty()) {
    console.print(array_expression(report.missing) + "\n");
  }
  if (report.missing.empty()) return kDone;
  return report.holds_damage() ? kDamaged : kFailed;
}

}  // namespace shale::tools
