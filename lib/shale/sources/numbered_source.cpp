#include "shale/sources/numbered_source.hpp"

#include <charconv>
#include <string>
#include <system_error>
#include <utility>

namespace shale {
namespace {

class NumberedSource final : public Source {
 public:
  NumberedSource(std::unique_ptr<Source> source, std::uint64_t first)
      : source_(std::move(source)), first_(first), info_(source_->info()) {
    if (info_.digest) info_.digest->keys = {};  // that of other numbers
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

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

  void skip(std::uint64_t samples) override { source_->skip(samples); }
  void narrow(std::uint64_t first, std::uint64_t samples) override {
    source_->narrow(first, samples);
    info_.digest.reset();
  }
  void list_ignored(const ReasonSink& sink) override { source_->list_ignored(sink); }
  void list_skipped(const SkippedSink& sink) override { source_->list_skipped(sink); }

 private:
  std::unique_ptr<Source> source_;
  const std::uint64_t first_;
  SourceInfo info_;
};

}  // namespace

std::unique_ptr<Source> make_numbered_source(std::unique_ptr<Source> source, std::uint64_t first) {
  return std::make_unique<NumberedSource>(std::move(source), first);
}

}  // namespace shale
