#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "shale/data/part_number.hpp"
#include "shale/format/source.hpp"

namespace shale {

/// A source over another one: it gives all that it does not override as that has it.
class SourceOver : public Source {
 public:
  explicit SourceOver(std::unique_ptr<Source> source)
      : source_(std::move(source)), info_(source_->info()) {}

  [[nodiscard]] const SourceInfo& info() const override { return info_; }
  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    return source_->next(most_rows);
  }
  void skip(std::uint64_t samples) override { source_->skip(samples); }
  void narrow(std::uint64_t first, std::uint64_t samples) override {
    source_->narrow(first, samples);
  }
  [[nodiscard]] std::optional<StreamPoint> point() const override { return source_->point(); }
  void list_ignored(const ReasonSink& sink) override { source_->list_ignored(sink); }
  void list_skipped(const SkippedSink& sink) override { source_->list_skipped(sink); }

 protected:
  /// What a stream tells only at its end. Workers are still reading the rest of info(): it stays.
  void take_totals() {
    const SourceInfo& now = source_->info();
    info_.manifest = now.manifest;
    info_.ignored = now.ignored;
    info_.skipped = now.skipped;
    info_.left_out = now.left_out;
    info_.labels = now.labels;
    if (now.is_stream) info_.notes = now.notes;
  }

  std::unique_ptr<Source> source_;
  SourceInfo info_;
};

/// One part of a source, which is at its first sample: the samples at the positions that
/// PartNumber gives, of its order, shuffled or not. All parts together are the source: what it
/// lists beside its samples (ignored entries, samples that were skipped before) belongs to the
/// first. Errors: same as Source::narrow.
[[nodiscard]] std::unique_ptr<Source> make_part_source(std::unique_ptr<Source> whole,
                                                       const PartNumber& part);

/// A source whose samples have no keys but their numbers, with `first` added to each number: they
/// come behind that many others. Errors: same as of the source.
[[nodiscard]] std::unique_ptr<Source> make_numbered_source(std::unique_ptr<Source> source,
                                                           std::uint64_t first);

}  // namespace shale
