#pragma once

#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "shale/targets/target.hpp"

namespace shale {

/// stdout, to which one file of a format that streams is written, from front to back. What it takes
/// besides is in a work folder among the temporary files, and goes with the run: nothing can be
/// continued. Errors: Code::usage if stdout is a terminal; Code::io if it cannot be written to.
class StreamTarget final : public Target {
 public:
  explicit StreamTarget(ConvertRequest request) : Target(std::move(request)) {}
  ~StreamTarget() override;

  void look(const Events& /*events*/) override {}
  void refuse_untakeable() const override {}
  void take() override;
  [[nodiscard]] WorkFolder& work() override { return *work_; }
  [[nodiscard]] bool keeps_listing() const override { return false; }
  void accept(const SourceInfo& info, const Events& events) override;
  [[nodiscard]] PlannedRun describe(const SourceInfo& info) const override;
  [[nodiscard]] std::optional<ConvertReport> completed(RunInput& /*input*/,
                                                       const Events& /*events*/) override {
    return std::nullopt;
  }
  void refuse_taken(const SourceInfo& /*info*/, const std::string& /*head*/) const override {}
  [[nodiscard]] SpaceNeed require_space(const SourceInfo& /*info*/,
                                        const Events& /*events*/) const override {
    return {};  // where it goes, nobody knows
  }
  void plan(ConvertPlan& plan) const override;
  [[nodiscard]] std::optional<RunState> begin(const RunInput& input, const Events& events) override;
  [[nodiscard]] ShardSetWriter::Options division(const Schema& schema) const override;
  void complete(Conversion* conversion, ConvertReport& report, const Events& events) override;
  void place(ConvertReport& /*report*/) override {}

 private:
  std::optional<WorkFolder> work_;
  int stream_ = -1;
  void (*was_pipe_signal_)(int) = SIG_ERR;
};

}  // namespace shale
