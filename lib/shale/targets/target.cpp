#include "shale/targets/target.hpp"

#include "shale/archives/tar_stream.hpp"
#include "shale/base/error.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/shard_bounds.hpp"
#include "shale/sources/open_input.hpp"

namespace shale {
namespace {

enum class Listing { none, fresh, stored };

RunInput open_for(Target& target, const std::string& scratch_folder, Listing listing,
                  const Events& events) {
  ConvertRequest request = target.request();
  if (listing != Listing::none) {
    const WorkFolder& work = target.work();
    if (listing == Listing::stored) request.files.listing.stored = work.listing_path();
    request.files.listing.written = work.new_listing_path();
    (void)remove_file(request.files.listing.written);  // what a kill left
  }
  RunInput input;
  input.source = target.open(request, scratch_folder, events);
  if (request.is_dry_run) refuse_for_pipe(*input.source, request.inputs.front(), "--dry-run");
  target.accept(input.info(), events);
  static_cast<PlannedRun&>(input) = target.describe(input.info());
  return input;
}

// By the listing of the run that is continued, if it is of this very command: a new run lists the
// folder as it is now. A listing that is damaged ends a run that may not be discarded.
RunInput open_or_continue(Target& target, const Events& events) {
  const ConvertRequest& request = target.request();
  const WorkFolder& work = target.work();
  const UnfinishedRun& left = target.left();
  if (!target.keeps_listing()) return open_for(target, work.path(), Listing::none, events);
  if (asks_to_continue(request, left) && work.holds_listing()) try {
      RunInput input = open_for(target, work.path(), Listing::stored, events);
      const bool is_refused = left.journal.holds_lines() && !request.overwrite;
      if (is_refused || is_head_of(left, input.head)) return input;
    } catch (const Error& error) {
      const bool is_of_listing =
          error.code() == Code::damaged && error.file() == work.listing_path();
      if (!is_of_listing || !request.overwrite) throw;
    }
  return open_for(target, work.path(), Listing::fresh, events);
}

// Nothing may be written to the output: the list of files spills to the temporary folder if it
// must.
RunPlan compare_or_plan(Target& target, const Events& events) {
  RunPlan plan{.input = open_for(target, temporary_folder(), Listing::none, events)};
  RunInput& input = plan.input;
  plan.report = target.completed(input, events);
  if (plan.report) return plan;
  target.refuse_taken(input.info(), input.head);
  const ShardSetWriter::Options division = target.division(input.info().schema);
  const ShardLimits limits = division.file_name.empty()
                                 ? ShardLimits{division.limit_bytes, division.limit_samples}
                                 : ShardLimits{kAnySize, kAnySize};
  plan.report = plan_conversion(target.request(), target.format(), *input.source,
                                std::move(input.wanted), limits);
  target.plan(*plan.report, events);
  return plan;
}

// What was decided before the place was taken may be wrong by now: all is looked at again.
RunPlan take_and_plan(Target& target, const Events& events) {
  target.take();
  RunPlan plan;
  RunInput& input = plan.input;
  try {
    target.look(events);
    input = open_or_continue(target, events);
    plan.report = target.completed(input, events);
    if (plan.report) {
      input.source.reset();
      target.work().remove();
      return plan;
    }
    target.refuse_taken(input.info(), input.head);
    plan.from = target.begin(input, events);
    input.source = target.in_order(std::move(input.source), events);
  } catch (...) {
    input.source.reset();
    target.leave(code_in_flight());
    throw;
  }
  return plan;
}

}  // namespace

std::unique_ptr<Source> Target::open(const ConvertRequest& request,
                                     const std::string& scratch_folder, const Events& events) {
  return open_input(request, scratch_folder, events);
}

RunPlan plan(Target& target, const Events& events) {
  target.look(events);
  const ConvertRequest& request = target.request();
  refuse_nested({request.output}, inputs_of(request));
  return request.is_dry_run || target.is_finished() ? compare_or_plan(target, events)
                                                    : take_and_plan(target, events);
}

ConvertReport run(Target& target, RunPlan plan, const Events& events) {
  if (plan.report) return std::move(*plan.report);
  RunInput& input = plan.input;
  ConvertReport report;
  try {
    Conversion conversion(target.request(), events, target.format(), *input.source, target.work(),
                          target.division(input.info().schema), plan.from, target.run());
    conversion.run();
    report = conversion.finish(std::move(input.wanted));
    target.complete(&conversion, report, events);
  } catch (...) {
    input.source.reset();
    target.stop(code_in_flight());
    throw;
  }
  input.source.reset();  // before the folder that its scratch files are in
  target.place(report);
  return report;
}

ConvertReport convert_into(Target& target, const Events& events) {
  return run(target, plan(target, events), events);
}

}  // namespace shale
