#include "shale/sources/part_source.hpp"

#include <algorithm>
#include <utility>

namespace shale {
namespace {

class PartSource final : public Source {
 public:
  PartSource(std::unique_ptr<Source> whole, const PartNumber& part)
      : whole_(std::move(whole)), is_first_(part.index == 0), info_(whole_->info()) {
    const std::uint64_t all = info_.manifest.samples;
    info_.part = PartOfInput{.number = part, .samples = all, .bytes = info_.manifest.bytes};
    left_ = info_.manifest.samples = part.share_of(all);
    info_.manifest.bytes =
        info_.row_bytes ? left_ * *info_.row_bytes
                        : static_cast<std::uint64_t>(
                              static_cast<double>(info_.part->bytes) * static_cast<double>(left_) /
                              static_cast<double>(std::max<std::uint64_t>(all, 1)));
    info_.digest.reset();
    if (!is_first_) info_.ignored = info_.skipped = 0;
    whole_->narrow(part.begin_of(all), left_);
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    if (left_ == 0) return std::nullopt;
    std::optional<PendingSample> sample = whole_->next(std::min(most_rows, left_));
    if (sample) left_ -= sample->rows;
    return sample;
  }

  void skip(std::uint64_t samples) override {
    if (samples > left_) return Source::skip(samples);
    whole_->skip(samples);
    left_ -= samples;
  }

  void list_ignored(const ReasonSink& sink) override {
    if (is_first_) whole_->list_ignored(sink);
  }
  void list_skipped(const SkippedSink& sink) override {
    if (is_first_) whole_->list_skipped(sink);
  }

 private:
  std::unique_ptr<Source> whole_;
  const bool is_first_;
  SourceInfo info_;
  std::uint64_t left_ = 0;
};

}  // namespace

std::unique_ptr<Source> make_part_source(std::unique_ptr<Source> whole, const PartNumber& part) {
  return std::make_unique<PartSource>(std::move(whole), part);
}

}  // namespace shale
