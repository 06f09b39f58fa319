#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "shale/base/events.hpp"
#include "shale/format/format.hpp"
#include "shale/format/source.hpp"
#include "shale/requests/convert_request.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/targets/conversion.hpp"
#include "shale/targets/resumption.hpp"
#include "shale/targets/space_check.hpp"

namespace shale {

/// What a run is known by, before it has begun.
struct PlannedRun {
  Manifest wanted;
  std::string head;  ///< of the journal
};

/// The input of a run as it was opened.
struct RunInput : PlannedRun {
  std::unique_ptr<Source> source;
  [[nodiscard]] const SourceInfo& info() const { return source->info(); }
};

/// Where a result comes to stand: a directory of shards, one file, a file per class, behind the
/// shards of a standing dataset. What all of them have in common are plan() and run(), which call
/// these functions in the order in which they are declared. Until take() nothing is written.
class Target {
 public:
  explicit Target(ConvertRequest request) : request_(std::move(request)) {}
  virtual ~Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  [[nodiscard]] const ConvertRequest& request() const { return request_; }
  /// There will be no run: what others left stays.
  void only_plan() { is_only_planned_ = true; }
  [[nodiscard]] bool is_only_planned() const { return is_only_planned_; }
  [[nodiscard]] const Format& format() const { return format_named(request_.format); }
  /// What an earlier run left that this one may go on with: known by look() after take().
  [[nodiscard]] const UnfinishedRun& left() const { return left_; }

  /// Looks at what stands there: before take(), and after it, as it may have changed. Errors:
  /// Code::exists for what is in the way, and may not be replaced.
  virtual void look(const Events& events) = 0;
  /// True if a finished set stands there that may be the result of this very command: that is found
  /// out before anything is taken.
  [[nodiscard]] virtual bool is_finished() const { return false; }
  /// The dataset that the samples come behind, as look() found it after take(); null: there is
  /// none.
  [[nodiscard]] virtual const Manifest* appended_to() const { return nullptr; }
  /// Refuses a place that take() could not take, as far as that shows without writing. Errors:
  /// those of take().
  virtual void refuse_untakeable() const { WorkFolder::refuse_unwritable(request_.output); }
  /// Takes the place for this process alone, and finishes what an earlier run left half moved.
  /// Errors: Code::exists where another process works; Code::io.
  virtual void take() = 0;
  [[nodiscard]] virtual WorkFolder& work() = 0;
  /// True if the list of a folder's files is kept for the run that goes on with this one.
  [[nodiscard]] virtual bool keeps_listing() const { return true; }
  /// Opens the input: of request(), with the listing that is to be read or made. Errors: same as
  /// open_input; Code::usage for a stream where it takes two passes.
  [[nodiscard]] virtual std::unique_ptr<Source> open(const ConvertRequest& request,
                                                     const std::string& scratch_folder,
                                                     const Events& events);
  /// Errors: Code::schema, Code::unsupported, Code::limit ... for samples that it cannot hold.
  virtual void accept(const SourceInfo& info, const Events& events) = 0;
  [[nodiscard]] virtual PlannedRun describe(const SourceInfo& info) const = 0;
  /// The report of a run that has nothing to do, as all of it stands there already; the input may
  /// have been read then.
  [[nodiscard]] virtual std::optional<ConvertReport> completed(RunInput& input,
                                                               const Events& events) = 0;
  /// Errors: Code::exists for an unfinished run of another command, and for names that are taken.
  virtual void refuse_taken(const SourceInfo& info, const std::string& head) const = 0;
  /// What to do where there is too little space.
  [[nodiscard]] virtual std::string_view space_hint() const { return kSpaceHint; }
  /// What it writes at least. Errors: Code::io where there is less room than that.
  virtual SpaceNeed require_space(const SourceInfo& info, const Events& events) const;
  /// Completes a plan that is told.
  virtual void plan(ConvertPlan& plan) const = 0;
  /// Begins the journal, or continues where an earlier run of the same command was. Errors:
  /// Code::io, also where there is less space than it takes.
  [[nodiscard]] virtual std::optional<RunState> begin(const RunInput& input,
                                                      const Events& events) = 0;
  /// The samples in the order in which they are written.
  [[nodiscard]] virtual std::unique_ptr<Source> in_order(std::unique_ptr<Source> source,
                                                         const Events& /*events*/) {
    return source;
  }
  [[nodiscard]] virtual ShardSetWriter::Options division(const Schema& schema) const = 0;
  /// Of the runs that write one dataset: the number of this one.
  [[nodiscard]] virtual std::uint64_t run() const { return 0; }
  /// Writes what comes beside the samples, which are whole. `conversion`: null for samples that a
  /// program wrote.
  virtual void complete(Conversion* conversion, ConvertReport& report, const Events& events) = 0;
  /// Gives all of it its names. After a kill, or an error, the next command that writes there goes
  /// on with that.
  virtual void place(ConvertReport& report) = 0;

  /// After an error, or a stop, before begin() has ended.
  virtual void leave(Code /*code*/) noexcept {}
  /// The same behind begin(): keeps what a later run can go on with. Throws what is to be said
  /// instead of the exception that is being handled, if anything.
  virtual void stop(Code /*code*/) {}
  /// The same for samples that no later run can go on with: nothing is left of them.
  virtual void discard() noexcept {}

 protected:
  ConvertRequest request_;
  UnfinishedRun left_;
  bool is_only_planned_ = false;
};

/// What a plan is made for: to be told, or to be followed by run().
enum class PlanFor { telling, running };

/// The first half of a conversion: looks at the output, opens the input and compares it with what
/// stands there. Whatever can be refused before the first byte of a sample is read is refused,
/// a lack of space too, and nothing is written but to the scratch folder. What is told has the
/// shards and their sizes as well, where the input may have to be read. Errors: same as the
/// functions of the target.
[[nodiscard]] ConvertPlan plan(Target& target, PlanFor purpose, const std::string& scratch_folder,
                               const Events& events);

/// The whole of it: takes the place, plans once more what may be wrong by now, goes on with what an
/// earlier run left or begins, converts, and puts the result in its place. Of a result that stands
/// already nothing is written. Errors: same as the functions of the target and those of Conversion;
/// the first in input order wins.
[[nodiscard]] ConvertReport run(Target& target, const Events& events);

}  // namespace shale
