#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "shale/base/checksum.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/targets/shard_target.hpp"

namespace shale {

/// Behind the shards of the finished dataset at `request.output`, for ConvertRequest::is_append.
/// The files of that dataset are not touched; the manifest is replaced by one rename, so that
/// whoever reads sees the set before or after. Costs what is appended, one read of the indexes
/// where keys are stored, and the manifest. Run again, it is already complete. Errors: Code::usage
/// for options that cannot be combined; Code::not_found where there is no dataset; Code::mismatch
/// for another format, other fields, other classes, or a part of a run; Code::schema for a key that
/// the dataset has already.
class AppendTarget final : public ShardTarget {
 public:
  /// The dataset that stands.
  struct Standing {
    explicit Standing(const std::string& output);
    [[nodiscard]] const Manifest& manifest() const { return shards.manifest(); }

    DatasetPaths paths;
    ShardList shards;
    Hash128 self_hash;
  };

  using ShardTarget::ShardTarget;

  void look(const Events& events) override;
  [[nodiscard]] bool is_finished() const override { return false; }
  [[nodiscard]] const Manifest* appended_to() const override { return &standing_->manifest(); }
  [[nodiscard]] std::unique_ptr<Source> open(const ConvertRequest& request,
                                             const std::string& scratch_folder,
                                             const Events& events) override;
  void accept(const SourceInfo& info, const Events& events) override;
  [[nodiscard]] PlannedRun describe(const SourceInfo& info) const override;
  [[nodiscard]] std::optional<ConvertReport> completed(RunInput& input,
                                                       const Events& events) override;
  void refuse_taken(const SourceInfo& info, const std::string& head) const override;
  void plan(ConvertPlan& plan) const override;
  [[nodiscard]] ShardSetWriter::Options division(const Schema& schema) const override;
  [[nodiscard]] std::uint64_t run() const override;
  void complete(Conversion* conversion, ConvertReport& report, const Events& events) override;
  void stop(Code code) override;

 private:
  [[nodiscard]] const Manifest& manifest() const { return standing_->manifest(); }
  void refuse_other_append(const std::string& head) const;
  void add_duplicates(Manifest& all, const ForEachShard& standing, const ForEachShard& added,
                      WrittenImages* written, const Events& events) const;

  std::optional<Standing> standing_;  // known by look()
};

}  // namespace shale
