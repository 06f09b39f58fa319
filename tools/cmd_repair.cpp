#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/archives/archive_path.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/ops/repair.hpp"
#include "shale/requests/combinations.hpp"
#include "shale/shards/place.hpp"
#include "shale/sources/split_folders.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"
#include "tools/requests.hpp"

namespace shale::tools {
namespace {

constexpr std::size_t kToldFiles = 1000, kToldStrays = 10;

std::string outcome_of(const RepairedFile& file, const RepairRequest& request) {
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
  return file.obstacle.empty() ? "damaged" : fmt::format("still damaged: {}", file.obstacle);
}

std::string damage_text(const RepairPlan& plan, const RepairRequest& request) {
  std::string text;
  for (std::size_t i = 0; i < std::min(plan.files.size(), kToldFiles); ++i) {
    const RepairedFile& file = plan.files[i];
    text += fmt::format("{}: {}: {}\n", printable(file.file.name), file.fault,
                        outcome_of(file, request));
  }
  if (plan.files.size() > kToldFiles)
    text += fmt::format("and {} more\n", format_count(plan.files.size() - kToldFiles));
  for (std::size_t i = 0; i < std::min(plan.strays.size(), kToldStrays); ++i)
    text += fmt::format("{}: not part of the dataset: left alone\n", printable(plan.strays[i]));
  if (plan.stray_count > kToldStrays) {
    text += fmt::format("{} more are not part of the dataset: left alone\n",
                        format_counted(plan.stray_count - kToldStrays, "file", "files"));
  }
  text += fmt::format("{}: {} checked, ", printable(request.dataset),
                      format_counted(plan.checked, "file", "files"));
  return plan.files.empty() ? text + "all as the manifest says\n" : text;
}

std::string report_text(const RepairPlan& plan, const RepairRequest& request) {
  std::string text = damage_text(plan, request);
  if (plan.files.empty()) return text;
  return text + fmt::format("{} damaged; nothing was changed\n", format_count(plan.files.size()));
}

std::string report_text(const RepairReport& report, const RepairRequest& request) {
  std::string text = damage_text(report, request);
  if (report.files.empty()) return text;
  const std::uint64_t left = report.left();
  text += fmt::format("{} repaired{}\n", format_count(report.files.size() - left),
                      left > 0 ? fmt::format(", {} still damaged", format_count(left)) : "");
  return left > 0 ? text
                  : text + fmt::format("next: shale verify {}\n", printable(request.dataset));
}

// What is said of a split is said of the whole: its files are "val/shard-000000.tfrecord".
template <class Report>
void add_split(Report& whole, const std::string& split, const Report& one) {
  whole.checked += one.checked;
  for (RepairedFile file : one.files) {
    file.file.name = join_path(split, file.file.name);
    whole.files.push_back(std::move(file));
  }
  whole.stray_count += one.stray_count;
  for (const std::string& name : one.strays) whole.strays.push_back(join_path(split, name));
}

// One split of several, where the source may be that of all.
RepairRequest request_of_one(const RepairRequest& request, const Events& events) {
  RepairRequest one = request;
  if (!request.more_from.empty() || !request.split.is_empty()) return one;
  const std::vector<std::string> sources = source_of_split(request.from, request.dataset, events);
  one.from = sources.front();
  one.more_from.assign(sources.begin() + 1, sources.end());
  return one;
}

// Where the request is for a dataset per split, each is repaired from its own source.
template <class Report>
Report of_all(const RepairRequest& request, const Events& events,
              Report (*work)(const RepairRequest& request, const Events& events)) {
  const std::vector<std::string> splits = splits_in(request.dataset);
  if (splits.empty()) return work(request_of_one(request, events), events);
  std::vector<std::string> sources = {request.from};
  sources.insert(sources.end(), request.more_from.begin(), request.more_from.end());
  // What was divided has no splits of its own, whatever its folders are called.
  const bool is_of_all = !request.split.is_empty() && splits_in(request.from).empty();
  const std::vector<std::vector<std::string>> of_splits =
      is_of_all ? std::vector(splits.size(), sources) : sources_of_splits(sources, splits, events);
  Report whole;
  for (std::size_t split = 0; split < splits.size(); ++split) {
    RepairRequest one = request;
    one.dataset = join_path(request.dataset, splits[split]);
    one.from = of_splits[split].front();
    one.more_from.assign(of_splits[split].begin() + 1, of_splits[split].end());
    add_split(whole, splits[split], work(one, events));
  }
  return whole;
}

}  // namespace

int run_repair(const CommandLine& line, Console& console) {
  line.require_words(1);
  const std::vector<std::string> sources = with_archives_joined(line.texts("from"));
  if (sources.empty()) {
    throw Error(Code::usage, "--from is missing")
        .hint("pass a copy of the dataset, or what it was made from");
  }
  RepairRequest request{.dataset = line.words()[0],
                        .from = sources.front(),
                        .more_from = {sources.begin() + 1, sources.end()},
                        .join = join_option(line),
                        .labels = label_file_of(line),
                        .choice = choice_of(line),
                        .split = split_of(line),
                        .split_seed = line.count("seed"),
                        .generator = std::string(kGenerator),
                        .jobs = static_cast<unsigned>(line.jobs().value),
                        .memory_bytes = line.memory().value,
                        .io = io_option(line)};
  (void)take_no_labels(request.labels);
  request.labels.group_column = request.labels.path.empty() ? "" : request.split.group;
  refuse_idle_join(line, sources, "--from");
  if (request.split_seed && request.split.is_empty()) {
    throw Error(Code::usage, "--seed has no effect without --split")
        .hint("the seed of a shuffle is in the manifest: leave it out");
  }
  if (line.flag("dry-run")) {
    const RepairPlan plan = of_all<RepairPlan>(request, console.events(), shale::plan);
    console.report(repair_facts(plan), report_text(plan, request));
    return plan.files.empty() ? kDone : kDamaged;
  }
  const RepairReport report = of_all<RepairReport>(request, console.events(), repair);
  console.report(repair_facts(report), report_text(report, request));
  return report.left() > 0 ? kDamaged : kDone;
}

}  // namespace shale::tools
