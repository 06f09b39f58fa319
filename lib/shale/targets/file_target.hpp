#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "shale/targets/file_output.hpp"
#include "shale/targets/lists_beside.hpp"
#include "shale/targets/target.hpp"

namespace shale {

/// The file `request.output`, of the format that its suffix names (format_of_output) and of any
/// size. The file comes to its name when it is whole and durable, and verified if that was asked
/// for: a kill leaves nothing but a hidden work folder beside it, which the next run of the same
/// output clears. With request.with_index its index is next to it then, as index_file() would make
/// it; an index of a file that is replaced goes. Samples that are skipped are in the report alone.
/// Errors: Code::exists for an existing output, without request.overwrite, for one that another
/// process writes, and for files of somebody else under the names of the index; Code::usage for an
/// .npy file of several fields, naming them, and for the index of a file of several tensors;
/// Code::unsupported for a field that the format cannot hold.
class FileTarget final : public Target {
 public:
  using KeySink = std::function<void(const std::string& key)>;
  /// `left_out` gets the key of each sample that was skipped.
  explicit FileTarget(ConvertRequest request, KeySink left_out = {});
  ~FileTarget() override;

  void look(const Events& events) override;
  void refuse_untakeable() const override;
  void take() override;
  [[nodiscard]] WorkFolder& work() override { return output_->work(); }
  [[nodiscard]] bool keeps_listing() const override { return false; }
  [[nodiscard]] std::unique_ptr<Source> open(const ConvertRequest& request,
                                             const std::string& scratch_folder,
                                             const Events& events) override;
  void accept(const SourceInfo& info, const Events& events) override;
  [[nodiscard]] PlannedRun describe(const SourceInfo& info) const override;
  [[nodiscard]] std::optional<ConvertReport> completed(RunInput& /*input*/,
                                                       const Events& /*events*/) override {
    return std::nullopt;
  }
  void refuse_taken(const SourceInfo& /*info*/, const std::string& /*head*/) const override {}
  void plan(ConvertPlan& plan) const override;
  [[nodiscard]] std::optional<RunState> begin(const RunInput& input, const Events& events) override;
  [[nodiscard]] ShardSetWriter::Options division(const Schema& schema) const override;
  void complete(Conversion* conversion, ConvertReport& report, const Events& events) override;
  void place(ConvertReport& report) override;

 private:
  void plan_lists(ConvertRequest& request, const std::string& scratch_folder, const Events& events);

  const KeySink left_out_;
  std::string_view frames_note_ = {};
  std::optional<TemporaryOutput> output_;
  std::unique_ptr<ListsBeside> lists_;  // gone before the output is
  std::string entries_path_;            // of Layout::entries_name; empty: there is none
  std::string made_folder_;             // around the output, and empty so far
};

/// Errors: Code::usage, Code::schema, Code::unsupported, Code::limit for samples that one file of
/// the format cannot hold.
void refuse_unfit_file(const ConvertRequest& request, const Format& format,
                       const SourceInfo& source);

}  // namespace shale
