#pragma once

#include <memory>
#include <optional>

#include "shale/shards/place.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/targets/target.hpp"

namespace shale {

/// The report of a finished set at `request.output` that is the result of this very command.
/// Errors: Code::exists, saying what differs; Code::damaged for a file that is missing or of
/// another size; Code::limit for more bad samples than the request allows.
[[nodiscard]] ConvertReport already_complete(const ConvertRequest& request, const Manifest& wanted,
                                             const SourceInfo& source);

/// Removes what a run left in its work folder that was killed when its set was finished: not an
/// append, with which the same command goes on.
void clear_left_of_finished(const std::string& output) noexcept;

/// A directory of shards, built in OUT/.shale.
class ShardTarget : public Target {
 public:
  explicit ShardTarget(ConvertRequest request);

  void look(const Events& events) override;
  [[nodiscard]] bool is_finished() const override;
  void take() override;
  [[nodiscard]] WorkFolder& work() override { return *work_; }
  void accept(const SourceInfo& info, const Events& events) override;
  [[nodiscard]] PlannedRun describe(const SourceInfo& info) const override;
  [[nodiscard]] std::optional<ConvertReport> completed(RunInput& input,
                                                       const Events& events) override;
  void refuse_taken(const SourceInfo& info, const std::string& head) const override;
  [[nodiscard]] std::string_view space_hint() const override;
  void plan(ConvertPlan& /*plan*/) const override {}
  [[nodiscard]] std::optional<RunState> begin(const RunInput& input, const Events& events) override;
  [[nodiscard]] ShardSetWriter::Options division(const Schema& schema) const override;
  void complete(Conversion* conversion, ConvertReport& report, const Events& events) override;
  void place(ConvertReport& report) override;
  void leave(Code code) noexcept override;
  void stop(Code code) override;
  void discard() noexcept override { work_->abandon(); }

 protected:
  virtual void say_about(const SourceInfo& source, const Events& events) const;

  const SetPlace set_;
  std::optional<WorkFolder> work_;
  Place place_ = Place::absent;
  bool replaces_ = false;    // an old set
  bool was_moving_ = false;  // an earlier run, when it was killed: take() has finished that
};

}  // namespace shale
