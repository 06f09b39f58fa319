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

// Of a plan, or of what was done; `complete`: the dataset stood already.
std::string drawn_text(const ResampleOutput& output, const ConvertOutput* dataset,
                       const ConvertReport* complete, const ResamplePlan* plan,
                       const ResampleRequest& request) {
  const ConvertRequest& conversion = request.conversion;
  const std::string_view verb = plan != nullptr ? "would write" : "wrote";
  std::string text = complete != nullptr ? complete_text(*complete, conversion.output) : "";
  text += fmt::format("{} {} of {} {}\n", plan != nullptr ? "would draw" : "drew",
                      format_count(output.rows), format_counted(output.source_rows, "row", "rows"),
                      manner_text(conversion.order.draw->mode));
  if (dataset != nullptr && complete == nullptr) {
    const Manifest& manifest = dataset->manifest;
    const std::string shards =
        dataset->is_of_files() ? ""
                               : " in " + format_counted(manifest.shard_count, "shard", "shards");
    text += fmt::format("{} {}{} of {} to {} ({})\n", verb,
                        format_counted(manifest.digest.samples, "sample", "samples"), shards,
                        manifest.format, printable(conversion.output),
                        format_size(dataset->file_bytes));
    if (plan != nullptr) {
      for (const auto& [field, drawn] : plan->field_plans)
        text += plan_text(printable(field), drawn);
    }
  }
  for (const ResampledArray& array : output.arrays) {
    text += fmt::format("{} {} to {} ({})\n", verb, array_text(array.field, array.rows),
                        printable(array.path), format_size(array.file_bytes));
    if (plan != nullptr && array.path != request.indices_output)
      text += plan_text("strategy", array.plan);
  }
  return text;
}

std::string report_text(const ResamplePlan& plan, const ResampleRequest& request) {
  const ConvertPlan* const dataset = plan.dataset ? &*plan.dataset : nullptr;
  const bool is_complete = dataset != nullptr && dataset->complete;
  return drawn_text(plan, dataset, is_complete ? &*dataset->complete : nullptr, &plan, request) +
         fmt::format("next: {}\n", kAfterPlan);
}

std::string report_text(const ResampleReport& report, const ResampleRequest& request) {
  const std::string output = printable(request.conversion.output);
  const ConvertReport* const dataset = report.dataset ? &*report.dataset : nullptr;
  const bool is_complete = dataset != nullptr && dataset->was_complete;
  const std::string next = dataset != nullptr
                               ? next_command(*dataset, output)
                               : look_command(*format_of_output(request.conversion.output), output);
  return drawn_text(report, dataset, is_complete ? dataset : nullptr, nullptr, request) +
         fmt::format("next: {}\n", next);
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
