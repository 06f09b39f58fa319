#include "shale/sampling/part_of_draw.hpp"

#include <utility>

namespace shale {
namespace {

class PartOfDraw final : public Draw {
 public:
  PartOfDraw(std::shared_ptr<const Draw> whole, std::uint64_t first, std::uint64_t rows)
      : whole_(std::move(whole)), first_(first), rows_(rows) {}

  [[nodiscard]] std::uint64_t source_rows() const override { return whole_->source_rows(); }
  [[nodiscard]] std::uint64_t rows() const override { return rows_; }
  [[nodiscard]] Costs costs() const override { return whole_->costs(); }
  void rows_of(std::uint64_t first, std::span<std::uint64_t> into) const override {
    whole_->rows_of(first_ + first, into);
  }

  [[nodiscard]] ScratchNeed sweep_scratch() const override { return whole_->sweep_scratch(); }
  void prepare_sweep(const Events& events) const override { whole_->prepare_sweep(events); }
  [[nodiscard]] std::uint64_t sweep_steps() const override { return whole_->sweep_steps(); }
  [[nodiscard]] std::vector<DrawnPlace> sweep(std::uint64_t first,
                                              std::uint64_t last) const override {
    std::vector<DrawnPlace> places = whole_->sweep(first, last);
    std::erase_if(places, [this](const DrawnPlace& place) {
      return place.slot < first_ || place.slot - first_ >= rows_;
    });
    for (DrawnPlace& place : places) place.slot -= first_;
    return places;
  }

 private:
  std::shared_ptr<const Draw> whole_;
  std::uint64_t first_, rows_;
};

}  // namespace

std::unique_ptr<Draw> part_of_draw(std::unique_ptr<const Draw> whole, std::uint64_t first,
                                   std::uint64_t rows) {
  return std::make_unique<PartOfDraw>(std::move(whole), first, rows);
}

std::unique_ptr<Draw> part_of_draw(const Draw& whole, std::uint64_t first, std::uint64_t rows) {
  const std::shared_ptr<const Draw> borrowed(std::shared_ptr<void>(), &whole);
  return std::make_unique<PartOfDraw>(borrowed, first, rows);
}

}  // namespace shale
