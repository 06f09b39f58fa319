#pragma once

#include <memory>
#include <optional>
#include <string>

#include "shale/targets/shard_target.hpp"

// A layout with a directory per class (Layout::Writes::class_files). In the work folder each class
// is a shard, of any size, so a run continues where it was stopped, like any other; when all of
// them are whole, they come to their names one by one. There is no manifest.
//   OUT/.shale/new/moves   the directories, shard by shard: from now on the files move

namespace shale {

/// A directory with a file per class. A class that lost all of its samples has none. Errors:
/// Code::usage for options of other samples than images; Code::exists for an output that is a file
/// or a dataset, or, without request.overwrite, not empty, and for a directory that stands, unless
/// it is to be overwritten and holds nothing but the files of the layout; Code::unsupported for an
/// input without classes, or with another field than an image and a label; Code::bad_content for
/// classes that no directory can have the name of, or two the same.
class ClassTarget final : public ShardTarget {
 public:
  using ShardTarget::ShardTarget;

  void look(const Events& events) override;
  [[nodiscard]] bool is_finished() const override { return false; }
  void take() override;
  [[nodiscard]] std::optional<ConvertReport> completed(RunInput& input,
                                                       const Events& events) override;
  void refuse_taken(const SourceInfo& info, const std::string& head) const override;
  void plan(ConvertPlan& plan) const override;
  [[nodiscard]] std::unique_ptr<Source> in_order(std::unique_ptr<Source> source,
                                                 const Events& events) override;
  [[nodiscard]] ShardSetWriter::Options division(const Schema& schema) const override;
  void complete(Conversion* conversion, ConvertReport& report, const Events& events) override;
  void place(ConvertReport& report) override;

 private:
  void say_about(const SourceInfo& source, const Events& events) const override;
};

}  // namespace shale
