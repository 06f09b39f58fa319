#include "shale/targets/sample_output.hpp"

#include <string>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/targets/dataset_output.hpp"
#include "shale/targets/file_output.hpp"
#include "shale/targets/one_file.hpp"
#include "shale/targets/resumption.hpp"
#include "shale/verify/verify.hpp"

namespace shale {
namespace {

Error output_is_taken(const std::string& output) {
  return Error(Code::exists, "already holds a finished dataset")
      .at(output)
      .hint("choose another output, or pass --overwrite to replace it");
}

void refuse_taken_folder(const ConvertRequest& request, Place place) {
  refuse_strange_output(request.output, place);
  if (place == Place::dataset && !request.overwrite) throw output_is_taken(request.output);
}

void refuse_findings(const VerifyReport& verification, const std::string& output) {
  if (verification.findings == 0) return;
  const Finding& first = verification.first_findings.front();
  throw Error(Code::damaged, "{} after it was written; the first one: {}",
              format_counted(verification.findings, "finding", "findings"), first.message)
      .at(first.file.empty() ? output : first.file)
      .hint(fmt::format("run 'shale verify {}' to list all the damage", printable(output)));
}

class ShardFolder final : public SampleOutput {
 public:
  ShardFolder(const ConvertRequest& request, const Format& format)
      : request_(request),
        format_(format),
        set_(SetPlace::of_dataset(request.output)),
        work_(request.output) {
    try {
      finish_swap(set_, work_);
      const Place place = look_at(request_.output);
      left_ = find_unfinished_run(work_, {});
      is_other_run_ = left_.is_worth_keeping();
      refuse_taken_folder(request_, place);
      replaces_ = place == Place::dataset;
    } catch (...) {
      drop();
      throw;
    }
  }
  ~ShardFolder() override { drop(); }
  ShardFolder(const ShardFolder&) = delete;
  ShardFolder& operator=(const ShardFolder&) = delete;

  [[nodiscard]] WorkFolder& work() override { return work_; }

  void begin(const SourceInfo& info, const Manifest& wanted) override {
    check_schema_fits(format_, info.schema);
    const std::string head = journal_head(request_, wanted, info);
    refuse_other_run(request_, left_, head);
    refuse_taken_names(request_.output, format_, info.schema);
    is_other_run_ = false;
    work_.clear();
    work_.begin(head);
  }

  [[nodiscard]] ShardSetWriter::Options division() const override {
    return {.limit_bytes = request_.shard_bytes, .limit_samples = request_.shard_samples};
  }

  void publish(ConvertReport& report, const Events& events) override {
    write_set_manifest(report.manifest, format_, work_);
    is_whole_ = true;
    put_in_place(set_, work_);
    work_.remove();
    if (!request_.verify) return;
    verify_output(request_, report, events);
    refuse_findings(report.verification, request_.output);
  }

 private:
  // What another command began stays; so does what is whole, to be put in its place.
  void drop() noexcept {
    if (!is_other_run_ && !is_whole_) work_.abandon();
  }

  const ConvertRequest& request_;
  const Format& format_;
  const SetPlace set_;
  WorkFolder work_;
  UnfinishedRun left_;
  bool is_other_run_ = true;  // until it is known
  bool replaces_ = false, is_whole_ = false;
};

class SingleFile final : public SampleOutput {
 public:
  SingleFile(const ConvertRequest& request, const Format& format)
      : request_(request), format_(format), output_(request.output, request.overwrite) {}

  [[nodiscard]] WorkFolder& work() override { return output_.work(); }

  void begin(const SourceInfo& info, const Manifest&) override {
    refuse_unfit_file(request_, format_, info);
    schema_ = info.schema;
    output_.work().begin("");
  }

  [[nodiscard]] ShardSetWriter::Options division() const override {
    return division_of_file(request_, output_, schema_);
  }

  void publish(ConvertReport& report, const Events& events) override {
    finish_file(request_, events, output_, report);
    refuse_findings(report.verification, request_.output);
    output_.publish();
  }

 private:
  const ConvertRequest& request_;
  const Format& format_;
  TemporaryOutput output_;
  Schema schema_;  // empty before begin()
};

}  // namespace

std::unique_ptr<SampleOutput> take_output(const ConvertRequest& request, const Format& format) {
  if (format_of_output(request.output) != nullptr) {
    clear_left_output(request.output);
    refuse_taken_output(request.output, request.overwrite);
    return std::make_unique<SingleFile>(request, format);
  }
  // Before there is a work folder, so that a refusal leaves no trace.
  if (!is_swapping(request.output)) refuse_taken_folder(request, look_at(request.output));
  return std::make_unique<ShardFolder>(request, format);
}

}  // namespace shale
