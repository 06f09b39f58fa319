#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "shale/base/events.hpp"
#include "shale/format/format.hpp"
#include "shale/format/source.hpp"
#include "shale/requests/convert_request.hpp"
#include "shale/shards/shard_set_writer.hpp"
#include "shale/shards/work_folder.hpp"
#include "shale/targets/conversion.hpp"
#include "shale/targets/resumption.hpp"

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
/// shards of a standing dataset. What all of them have in common is convert_into(), which calls
/// these functions in the order in which they are declared. Until take() nothing is written.
class Target {
 public:
  explicit Target(ConvertRequest request) : request_(std::move(request)) {}
  virtual ~Target() = default;
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  [[nodiscard]] const ConvertRequest& request() const { return request_; }
  [[nodiscard]] const Format& format() const { return format_named(request_.format); }
  /// What an earlier run left that this one may go on with: known by look() after take().
  [[nodiscard]] const UnfinishedRun& left() const { return left_; }

  /// Looks at what stands there: before take(), and after it, as it may have changed. Errors:
  /// Code::exists for what is in the way, and may not be replaced.
  virtual void look(const Events& events) = 0;
  /// True if a finished set stands there that may be the result of this very command: that is found
  /// out before anything is taken.
  [[nodiscard]] virtual bool is_finished() const { return false; }
  /// Takes the place for this process alone, and finishes what an earlier run left half moved.
  /// Errors: Code::exists where another process works; Code::io.
  virtual void take() = 0;
  [[nodiscard]] virtual WorkFolder& work() = 0;
  /// True if the list of a folder's files is kept for the run that goes on with this one.
  [[nodiscard]] virtual bool keeps_listing() const { return true; }
  /// Opens the input: of request(), with the listing that is to be read or made. Errors: same as
  /// open_input.
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
  /// Completes the report of a run that is only planned.
  virtual void plan(ConvertReport& plan, const Events& events) const = 0;
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
};

/// A run that has begun, or that has nothing to do.
struct RunPlan {
  RunInput input;
  std::optional<RunState> from = {};  ///< where an earlier run of the same command was
  /// Of a result that stands already, or of a run that is_dry_run.
  std::optional<ConvertReport> report = {};
};

/// The first half of the one life of a run: looks at the output, opens the input, compares it with
/// what stands there, and goes on with what an earlier run left or begins. Whatever can be refused
/// before the first byte of a sample is read is refused here. Of a request that is_dry_run, and of
/// one whose result stands already, nothing is written. Errors: same as the functions of the
/// target.
[[nodiscard]] RunPlan plan(Target& target, const Events& events);

/// The second half: converts, and puts the result in its place. Errors: same as the functions of
/// the target and those of Conversion; the first in input order wins.
[[nodiscard]] ConvertReport run(Target& target, RunPlan plan, const Events& events);

/// Both.
[[nodiscard]] ConvertReport convert_into(Target& target, const Events& events);

}  // namespace shale
