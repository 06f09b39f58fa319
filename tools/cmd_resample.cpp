#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/ops/resample.hpp"

#include "tools/command.hpp"
#include "tools/facts.hpp"
#include "tools/requests.hpp"

namespace shale::tools {
namespace {

std::string_view manner_text(DrawMode mode) {
  switch (mode) {
    case DrawMode::permute:
      return "without replacement";
    case DrawMode::replace:
      return "with replacement";
    case DrawMode::weights:
      return "with replacement, by weight";
    case DrawMode::indices:
      return "as listed";
  }
  return "";
}

std::string plan_text(std::string_view what, const DrawPlan& plan) {
  const std::string_view meaning = plan.strategy == DrawStrategy::memory ? "the source is read once"
                                   : plan.strategy == DrawStrategy::gather
                                       ? "rows are read in place"
                                       : "rows are dealt into buckets";
  const double times = plan.write_amplification();
  return fmt::format("  {}: {} ({}), {}, {} read, {} written{}, {} of scratch space\n", what,
                     name_of(plan.strategy), meaning, format_counted(plan.passes, "pass", "passes"),
                     format_size(plan.read_bytes), format_size(plan.written_bytes),
                     times > 1 ? fmt::format(" ({:.1f} times the output)", times) : "",
                     format_size(plan.scratch_bytes));
}

std::string report_text(const ResampleReport& report, const ResampleRequest& request) {
  const ConvertRequest& conversion = request.conversion;
  const bool is_plan = conversion.is_dry_run;
  std::string text;
  if (report.dataset && report.dataset->was_complete)
    text += complete_text(*report.dataset, conversion.output);
  text += fmt::format("{} {} of {} {}\n", is_plan ? "would draw" : "drew",
                      format_count(report.rows), format_counted(report.source_rows, "row", "rows"),
                      manner_text(conversion.order.draw->mode));
  if (report.dataset && !report.dataset->was_complete) {
    const Manifest& manifest = report.dataset->manifest;
    const std::string shards =
        report.dataset->is_one_file
            ? ""
            : " in " + format_counted(manifest.shard_count, "shard", "shards");
    text += fmt::format("{} {}{} of {} to {} ({})\n", is_plan ? "would write" : "wrote",
                        format_counted(manifest.digest.samples, "sample", "samples"), shards,
                        manifest.format, printable(conversion.output),
                        format_size(report.dataset->file_bytes));
    for (const auto& [field, plan] : report.field_plans) text += plan_text(printable(field), plan);
  }
  for (const ResampledArray& array : report.arrays) {
    text += fmt::format("{} {} to {} ({})\n", is_plan ? "would write" : "wrote",
                        array_text(array.field, array.rows), printable(array.path),
                        format_size(array.file_bytes));
    if (is_plan && array.path != request.indices_output) text += plan_text("strategy", array.plan);
  }
  const std::string output = printable(conversion.output);
  return text + fmt::format("next: {}\n",
                            is_plan ? "the same command without --dry-run"
                            : report.dataset
                                ? next_command(*report.dataset, output)
                                : look_command(*format_of_output(conversion.output), output));
}

}  // namespace

int run_resample(const CommandLine& line, Console& console) {
  const ResampleRequest request = resample_request_of(line);
  say_limits(line, console.events());
  const ResampleReport report = resample(request, console.events());
  console.report(resample_facts(report, request), report_text(report, request));
  return kDone;
}

}  // namespace shale::tools
