#include "shale/sources/source_over.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <system_error>

#include "shale/base/error.hpp"

namespace shale {
namespace {

class PartSource final : public SourceOver {
 public:
  PartSource(std::unique_ptr<Source> whole, const PartNumber& part)
      : SourceOver(std::move(whole)), is_first_(part.index == 0) {
    const std::uint64_t all = info_.manifest.samples;
    info_.part = PartOfInput{.number = part, .samples = all, .bytes = info_.manifest.bytes};
    left_ = info_.manifest.samples = part.share_of(all);
    info_.manifest.bytes =
        info_.row_bytes ? left_ * *info_.row_bytes
                        : static_cast<std::uint64_t>(
                              static_cast<double>(info_.part->bytes) * static_cast<double>(left_) /
                              static_cast<double>(std::max<std::uint64_t>(all, 1)));
    info_.digest.reset();
    if (!is_first_) {
      info_.ignored = info_.skipped = 0;
      info_.left_out = {};
    }
    source_->narrow(part.begin_of(all), left_);
  }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    if (left_ == 0) return std::nullopt;
    std::optional<PendingSample> sample = source_->next(std::min(most_rows, left_));
    if (sample) left_ -= sample->rows;
    return sample;
  }

  void skip(std::uint64_t samples) override {
    if (samples > left_)
      throw Error(Code::bug, "a part has {} samples left, not {}", left_, samples);
    source_->skip(samples);
    left_ -= samples;
  }

  void narrow(std::uint64_t first, std::uint64_t /*samples*/) override { skip(first); }

  void list_ignored(const ReasonSink& sink) override {
    if (is_first_) source_->list_ignored(sink);
  }
  void list_skipped(const SkippedSink& sink) override {
    if (is_first_) source_->list_skipped(sink);
  }

 private:
  const bool is_first_;
  std::uint64_t left_ = 0;
};

class NumberedSource final : public SourceOver {
 public:
  NumberedSource(std::unique_ptr<Source> source, std::uint64_t first)
      : SourceOver(std::move(source)), first_(first) {
    if (info_.digest) info_.digest->keys = {};  // that of other numbers
  }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    std::optional<PendingSample> sample = source_->next(most_rows);
    if (!sample) return sample;
    sample->first_number += first_;
    std::uint64_t number = 0;
    const char* const end = sample->key.data() + sample->key.size();
    const auto parsed = std::from_chars(sample->key.data(), end, number);
    if (parsed.ec == std::errc() && parsed.ptr == end)
      sample->key = std::to_string(number + first_);
    return sample;
  }

  void narrow(std::uint64_t first, std::uint64_t samples) override {
    source_->narrow(first, samples);
    info_.digest.reset();
  }

 private:
  const std::uint64_t first_;
};

}  // namespace

std::unique_ptr<Source> make_part_source(std::unique_ptr<Source> whole, const PartNumber& part) {
  return std::make_unique<PartSource>(std::move(whole), part);
}

std::unique_ptr<Source> make_numbered_source(std::unique_ptr<Source> source, std::uint64_t first) {
  return std::make_unique<NumberedSource>(std::move(source), first);
}

}  // namespace shale
