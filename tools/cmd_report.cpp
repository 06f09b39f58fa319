#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/report/gather_report.hpp"
#include "shale/report/report_page.hpp"
#include "shale/report/write_report.hpp"
#include "shale/shards/place.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"
#include "tools/requests.hpp"

namespace shale::tools {
namespace {

std::string report_text(const ReportFacts& facts, const std::string& output,
                        std::size_t page_bytes) {
  const Json& json = facts.json;
  const std::uint64_t met =
      facts.met.size() + json["integrity"].value("findings", std::uint64_t{0});
  return fmt::format(
      "wrote {} ({}): {} of {} looked at{}\n", printable(output), format_size(page_bytes),
      format_count(json["looked_at"]["looked_at"].get<std::uint64_t>()),
      format_counted(json["samples"].get<std::uint64_t>(), "sample", "samples"),
      met > 0 ? fmt::format(", {}", format_counted(met, "finding", "findings")) : std::string());
}

}  // namespace

int run_report(const CommandLine& line, Console& console) {
  const ReportRequest request = report_request_of(line);
  if (!line.has("output") && !console.is_json()) {
    throw Error(Code::usage, "there is no output")
        .hint("name the page with -o report.html, or pass --json to print the facts");
  }
  const ReportPlace place = report_place_of(line);
  const bool has_output = line.has("output");
  if (has_output) refuse_report_output(place);
  say_limits(line, console.events());
  const ReportFacts facts = gather_report(request, console.events());
  std::size_t page_bytes = 0;
  if (has_output) {
    const std::string page = report_page(facts);
    page_bytes = page.size();
    write_report(place, as_called(page));
  }
  console.report(facts.json, report_text(facts, place.output, page_bytes));
  if (!console.is_json()) {
    for (const Finding& finding : facts.met) console.finding(finding);
    for (const Finding& finding : facts.verified) console.finding(finding);
  }
  return facts.is_damaged() ? kDamaged : kDone;
}

}  // namespace shale::tools
