#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/ops/repair.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"

namespace shale::tools {
namespace {

constexpr std::size_t kToldFiles = 1000;

std::string outcome_of(const RepairedFile& file, const RepairReport& report,
                       const RepairRequest& request) {
  std::string from = request.from == "-" ? "stdin" : printable(request.from);
  for (const std::string& more : request.more_from) from += ", " + printable(more);
  switch (file.remedy) {
    case RepairedFile::Remedy::copied:
      return "copied from " + from;
    case RepairedFile::Remedy::made_again:
      return "made again from " + from;
    case RepairedFile::Remedy::rebuilt:
      return "rebuilt from its shard";
    case RepairedFile::Remedy::none:
      break;
  }
  return report.is_plan ? "damaged" : fmt::format("still damaged: {}", file.obstacle);
}

std::string report_text(const RepairReport& report, const RepairRequest& request) {
  const std::string dataset = printable(request.dataset);
  std::string text;
  for (std::size_t i = 0; i < std::min(report.files.size(), kToldFiles); ++i) {
    const RepairedFile& file = report.files[i];
    text += fmt::format("{}: {}: {}\n", printable(file.file.name), file.fault,
                        outcome_of(file, report, request));
  }
  if (report.files.size() > kToldFiles)
    text += fmt::format("and {} more\n", format_count(report.files.size() - kToldFiles));
  const std::string checked = format_counted(report.checked, "file", "files");
  if (report.files.empty())
    return text + fmt::format("{}: {} checked, all as the manifest says\n", dataset, checked);
  if (report.is_plan)
    return text + fmt::format("{}: {} checked, {} damaged; nothing was changed\n", dataset, checked,
                              format_count(report.files.size()));
  const std::uint64_t left = report.left();
  text += fmt::format("{}: {} checked, {} repaired{}\n", dataset, checked,
                      format_count(report.files.size() - left),
                      left > 0 ? fmt::format(", {} still damaged", format_count(left)) : "");
  return left > 0 ? text : text + fmt::format("next: shale verify {}\n", dataset);
}

}  // namespace

int run_repair(const CommandLine& line, Console& console) {
  line.require_words(1);
  const std::vector<std::string> sources = line.texts("from");
  if (sources.empty()) {
    throw Error(Code::usage, "--from is missing")
        .hint("pass a copy of the dataset, or what it was made from");
  }
  RepairRequest request{.dataset = line.words()[0],
                        .from = sources.front(),
                        .more_from = {sources.begin() + 1, sources.end()},
                        .labels_file = line.text_or_none("labels"),
                        .choice = {line.text_or_none("select"), line.text_or_none("exclude")},
                        .generator = std::string(kGenerator),
                        .jobs = static_cast<unsigned>(line.jobs().value),
                        .memory_bytes = line.memory().value,
                        .io = io_option(line),
                        .is_dry_run = line.flag("dry-run")};
  read_label_columns(line, request.labels_file, request.label_column, request.key_column);
  const RepairReport report = repair(request, console.events());
  console.report(repair_facts(report), report_text(report, request));
  return report.left() > 0 ? kDamaged : kDone;
}

}  // namespace shale::tools
