#include "shale/labels/class_order.hpp"

#include <map>
#include <utility>

#include "shale/base/error.hpp"

namespace shale {
namespace {

class ClassOrderedSource final : public Source {
 public:
  ClassOrderedSource(std::function<std::unique_ptr<Source>()> open, std::size_t label,
                     const Events& events)
      : open_(std::move(open)), label_(label), events_(events), whole_(open_()) {
    info_ = whole_->info();
    count();
    info_.labels_are_sorted = false;  // as it should be: nothing to be said about it
    if (info_.digest && !is_in_order_) info_.digest->ordered = {};
    at_ = samples_.begin();
    open_again();
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t /*most_rows*/) override {
    while (at_ != samples_.end() && taken_ == at_->second) {
      ++at_;
      taken_ = 0;
      if (at_ != samples_.end() && !is_in_order_) open_again();
    }
    if (at_ == samples_.end()) return std::nullopt;
    while (std::optional<PendingSample> sample = whole_->next(1)) {
      events_.stop_if_asked();
      if (label_of(*sample) != at_->first) continue;
      ++taken_;
      return sample;
    }
    throw Error(Code::mismatch, "the labels of the input changed while it was read")
        .hint("run the command again when nothing writes to the input");
  }

  void list_ignored(const ReasonSink& sink) override { whole_->list_ignored(sink); }
  void list_skipped(const SkippedSink& sink) override { whole_->list_skipped(sink); }

 private:
  [[nodiscard]] std::int64_t label_of(const PendingSample& sample) const {
    if (label_ >= sample.cells.size() || sample.rows != 1)
      throw Error(Code::bug, "a sample has no label to be ordered by");
    const std::int64_t label = sample.cells[label_].integer;
    if (label >= 0 && static_cast<std::uint64_t>(label) < info_.classes.size()) return label;
    throw Error(Code::bad_content, "label {} is not one of the {} classes of the input", label,
                info_.classes.size())
        .for_sample(sample.key)
        .hint("make the label one of the classes', or leave the sample out with --exclude");
  }

  void count() {
    std::optional<std::int64_t> previous;
    while (const std::optional<PendingSample> sample = whole_->next(1)) {
      events_.stop_if_asked();
      const std::int64_t label = label_of(*sample);
      ++samples_[label];
      is_in_order_ = is_in_order_ && previous.value_or(label) <= label;
      previous = label;
    }
  }

  void open_again() {
    whole_.reset();  // two of them would need the memory twice
    whole_ = open_();
  }

  std::function<std::unique_ptr<Source>()> open_;
  const std::size_t label_;
  const Events& events_;
  std::unique_ptr<Source> whole_;
  SourceInfo info_;
  std::map<std::int64_t, std::uint64_t> samples_;  // of each label that there is
  std::map<std::int64_t, std::uint64_t>::const_iterator at_;
  std::uint64_t taken_ = 0;  // of this label
  bool is_in_order_ = true;
};

}  // namespace

std::unique_ptr<Source> make_class_ordered_source(std::function<std::unique_ptr<Source>()> open,
                                                  std::size_t label, const Events& events) {
  return std::make_unique<ClassOrderedSource>(std::move(open), label, events);
}

}  // namespace shale
