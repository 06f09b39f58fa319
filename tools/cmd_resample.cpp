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

std::string drawn_text(std::string_view verb, const ResampleOutput& output,
                       const ResampleRequest& request) {
  return fmt::format("{} {} of {} {}\n", verb, format_count(output.rows),
                     format_counted(output.source_rows, "row", "rows"),
                     manner_text(request.conversion.order.draw->mode));
}

std::string dataset_text(std::string_view verb, const ConvertOutput& dataset,
                         const std::string& output) {
  const Manifest& manifest = dataset.manifest;
  const std::string shards =
      dataset.is_of_files() ? "" : " in " + format_counted(manifest.shard_count, "shard", "shards");
  return fmt::format("{} {}{} of {} to {} ({})\n", verb,
                     format_counted(manifest.digest.samples, "sample", "samples"), shards,
                     manifest.format, output, format_size(dataset.file_bytes));
}

std::string text_of(std::string_view verb, const ResampledArray& array) {
  return fmt::format("{} {} to {} ({})\n", verb, array_text(array.field, array.rows),
                     printable(array.path), format_size(array.file_bytes));
}

std::string report_text(const ResamplePlan& plan, const ResampleRequest& request) {
  const std::string output = printable(request.conversion.output);
  const std::string_view verb = "would write";
  const bool is_complete = plan.dataset && plan.dataset->complete;
  std::string text;
  if (is_complete) text += complete_text(*plan.dataset->complete, request.conversion.output);
  text += drawn_text("would draw", plan, request);
  if (plan.dataset && !is_complete) {
    text += dataset_text(verb, *plan.dataset, output);
    for (const auto& [field, drawn] : plan.field_plans) text += plan_text(printable(field), drawn);
  }
  for (const ResampledArray& array : plan.arrays) {
    text += text_of(verb, array);
    if (array.path != request.indices_output) text += plan_text("strategy", array.plan);
  }
  return text + fmt::format("next: {}\n", kAfterPlan);
}

std::string report_text(const ResampleReport& report, const ResampleRequest& request) {
  const std::string output = printable(request.conversion.output);
  const bool is_complete = report.dataset && report.dataset->was_complete;
  std::string text;
  if (is_complete) text += complete_text(*report.dataset, request.conversion.output);
  text += drawn_text("drew", report, request);
  if (report.dataset && !is_complete) text += dataset_text("wrote", *report.dataset, output);
  for (const ResampledArray& array : report.arrays) text += text_of("wrote", array);
  return text +
         fmt::format("next: {}\n",
                     report.dataset
                         ? next_command(*report.dataset, output)
                         : look_command(*format_of_output(request.conversion.output), output));
}

}  // namespace

int run_resample(const CommandLine& line, Console& console) {
  const ResampleRequest request = resample_request_of(line);
  say_limits(line, console.events());
  if (line.flag("dry-run")) {
    const ResamplePlan plan = shale::plan(request, console.events());
    console.report(resample_facts(plan, request), report_text(plan, request));
  } else {
    const ResampleReport report = resample(request, console.events());
    console.report(resample_facts(report, request), report_text(report, request));
  }
  return kDone;
}

}  // namespace shale::tools
