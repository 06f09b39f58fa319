#include "shale/targets/target.hpp"

#include "shale/archives/tar_stream.hpp"
#include "shale/base/error.hpp"
#include "shale/io/atomic_file.hpp"
#include "shale/io/temporary_folder.hpp"
#include "shale/requests/combinations.hpp"
#include "shale/shards/refuse_nested.hpp"
#include "shale/shards/shard_bounds.hpp"
#include "shale/sources/open_input.hpp"

namespace shale {
namespace {

// The code of the exception that is being handled.
Code code_in_flight() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return error.code();
  } catch (...) {
    return Code::bug;
  }
}

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
  if (target.is_only_planned()) refuse_for_pipe(*input.source, request.inputs.front(), "--dry-run");
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

void look_before(Target& target, const Events& events) {
  target.look(events);
  const ConvertRequest& request = target.request();
  if (kind_of_output(request) != OutputKind::stream)
    refuse_nested({request.output}, inputs_of(request));
}

void name_output(ConvertOutput& output, const ConvertRequest& request) {
  output.kind = kind_of_output(request);
  output.output = request.output;
}

// A run that has begun, or that has nothing to do.
struct BegunRun {
  RunInput input;
  std::optional<RunState> from = {};           // where an earlier run of the same command was
  std::optional<ConvertReport> complete = {};  // the result stands already
};

// What was decided before the place was taken may be wrong by now: all is looked at again.
BegunRun take_and_begin(Target& target, const Events& events) {
  target.take();
  BegunRun run;
  RunInput& input = run.input;
  try {
    target.look(events);
    input = open_or_continue(target, events);
    run.complete = target.completed(input, events);
    if (run.complete) {
      input.source.reset();
      target.work().remove();
      return run;
    }
    target.refuse_taken(input.info(), input.head);
    run.from = target.begin(input, events);
    input.source = target.in_order(std::move(input.source), events);
  } catch (...) {
    input.source.reset();
    target.leave(code_in_flight());
    throw;
  }
  return run;
}

ConvertReport convert_into(Target& target, const Events& events) {
  look_before(target, events);
  if (target.is_finished()) {
    RunInput input = open_for(target, temporary_folder(), Listing::none, events);
    return target.completed(input, events).value();
  }
  BegunRun run = take_and_begin(target, events);
  if (run.complete) return std::move(*run.complete);
  RunInput& input = run.input;
  ConvertReport report;
  try {
    Conversion conversion(target.request(), events, target.format(), *input.source, target.work(),
                          target.division(input.info().schema), run.from, target.run());
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

}  // namespace

std::unique_ptr<Source> Target::open(const ConvertRequest& request,
                                     const std::string& scratch_folder, const Events& events) {
  std::unique_ptr<Source> source = open_input(request, scratch_folder, events);
  if (source->info().is_stream) refuse_combinations(request, kStream);
  return source;
}

SpaceNeed Target::require_space(const SourceInfo& info, const Events& events) const {
  return shale::require_space(request_, format(), info, division(info.schema), space_hint(),
                              events);
}

ConvertPlan plan(Target& target, PlanFor purpose, const std::string& scratch_folder,
                 const Events& events) {
  if (purpose == PlanFor::telling) target.only_plan();
  look_before(target, events);
  if (!target.is_finished()) target.refuse_untakeable();
  RunInput input = open_for(target, scratch_folder, Listing::none, events);
  const ConvertRequest& request = target.request();
  ConvertPlan plan;
  name_output(plan, request);
  if ((plan.complete = target.completed(input, events))) {
    name_output(*plan.complete, request);
    return plan;
  }
  target.refuse_taken(input.info(), input.head);
  plan.space = target.require_space(input.info(), events);
  if (purpose == PlanFor::running) {
    plan.manifest = std::move(input.wanted);
    return plan;
  }
  ShardSetWriter::Options division = target.division(input.info().schema);
  take_class_names(division, input.info());
  const ShardLimits limits{bytes_for_samples(target.format(), division),
                           division.file_name.empty() ? division.limit_samples : kAnySize};
  forecast(plan, request, target.format(), *input.source, std::move(input.wanted), limits);
  for (const std::string& note : plan.notes) events.say(note);
  target.plan(plan);
  return plan;
}

ConvertReport run(Target& target, const Events& events) {
  ConvertReport report = convert_into(target, events);
  name_output(report, target.request());
  return report;
}

}  // namespace shale
