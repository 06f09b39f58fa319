#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/report/gather_report.hpp"
#include "shale/report/report_json.hpp"
#include "shale/report/report_page.hpp"
#include "shale/report/write_report.hpp"
#include "shale/shards/place.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"

namespace shale::tools {
namespace {

ReportRequest report_request_of(const CommandLine& line, const CommonOptions& common) {
  const DatasetRequest dataset = dataset_request(line);
  ReportRequest request{.dataset = dataset.path,
                        .index_folder = dataset.index_folder,
                        .dialect = dataset.dialect,
                        .verifies = line.flag("verify"),
                        .generator = std::string(kGenerator),
                        .jobs = static_cast<unsigned>(common.jobs.value),
                        .memory_bytes = common.memory.value};
  const std::string& sample = line.text("sample");
  request.sample = sample == "all" ? 0 : parse_count(sample, "--sample");
  if (request.sample == 0 && sample != "all") {
    throw Error(Code::usage, "--sample 0 looks at nothing")
        .hint("pass a number of samples, or 'all'");
  }
  return request;
}

std::string report_text(const ReportFacts& facts, const std::string& output,
                        std::size_t page_bytes) {
  const std::size_t met = facts.integrity.met.size() + facts.integrity.finding_count;
  return fmt::format(
      "wrote {} ({}): {} of {} looked at{}\n", printable(output), format_size(page_bytes),
      format_count(facts.looked_at.looked_at), format_counted(facts.samples, "sample", "samples"),
      met > 0 ? fmt::format(", {}", format_counted(met, "finding", "findings")) : std::string());
}

}  // namespace

void declare_report(CommandLine& line) {
  line.add()  //
      ("output", value("FILE.html"),
       "the page to write (also -o); with --json alone none is written")  //
      ("sample", value("N|all", "10000"),
       "number of samples that are read for what neither manifest nor index says")  //
      ("verify", "also verify the dataset, as 'shale verify' does")                 //
      ("overwrite", "replace an earlier report");
  add_file_options(line);
}

int run_report(const CommandLine& line) {
  const CommonOptions common = line.common();
  line.require_words(1);
  const ReportRequest request = report_request_of(line, common);
  if (!line.has("output") && !common.is_json) {
    throw Error(Code::usage, "there is no output")
        .hint("name the page with -o report.html, or pass --json to print the facts");
  }
  const ReportPlace place{.output = line.has("output") ? line.text("output") : std::string(),
                          .dataset = request.dataset,
                          .overwrites = line.flag("overwrite")};
  const bool has_output = line.has("output");
  if (has_output) refuse_report_output(place);
  Progress progress(common.progress, "report");
  const Events events = events_for(progress, common.is_quiet);
  say_limits(common, events);
  const ReportFacts facts = gather_report(request, events);
  std::size_t page_bytes = 0;
  if (has_output) {
    const std::string page = report_page(facts);
    page_bytes = page.size();
    write_report(place, page);
  }
  progress.clear();
  if (common.is_json) {
    print(report_facts_json(facts).dump() + "\n");
  } else if (!common.is_quiet) {
    print(report_text(facts, place.output, page_bytes));
  }
  if (!common.is_json) {
    for (const Finding& finding : facts.integrity.met) progress.finding(finding);
    for (const Finding& finding : facts.integrity.findings) progress.finding(finding);
  }
  return facts.is_damaged() ? kDamaged : kDone;
}

}  // namespace shale::tools
