#include "shale/ops/drawn_source.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/ops/row_stream.hpp"

namespace shale {
namespace {

// The pieces that drawn rows come in, taken as whole rows.
class DrawnColumn {
 public:
  DrawnColumn(std::unique_ptr<const LocatedRows> rows, const Draw& draw, const DrawLimits& limits,
              const Events& events)
      : rows_(std::move(rows)), drawn_(open_drawn_rows(*rows_, draw, limits, events)) {}

  void read(std::span<std::byte> into) {
    while (!into.empty()) {
      if (left_.empty()) left_ = drawn_->next();
      const std::size_t count = std::min(left_.size(), into.size());
      std::memcpy(into.data(), left_.data(), count);
      left_ = left_.subspan(count);
      into = into.subspan(count);
    }
  }

 private:
  std::unique_ptr<const LocatedRows> rows_;
  std::unique_ptr<DrawnRows> drawn_;
  Bytes left_;  // of the piece that was handed out last
};

class DrawnSource final : public Source {
 public:
  DrawnSource(RowTable table, const DrawRequest& draw, const DrawLimits& limits,
              const Events& events)
      : table_(std::move(table)),
        limits_(limits),
        events_(events),
        quiet_{.note = {}, .progress = {}, .should_stop = events.should_stop},
        draw_(make_draw(draw, table_.info.manifest.samples, limits.memory_bytes / 4,
                        limits.scratch_folder, events)) {
    info_ = table_.info;
    info_.memory_bytes = limits.memory_bytes;
    info_.manifest.samples = draw_->rows();
    info_.manifest.bytes = draw_->rows() * *info_.row_bytes;
    const bool is_whole = draw.mode == DrawMode::permute && draw_->rows() == draw_->source_rows();
    // What is drawn has not the digest of the whole; the files are proved before.
    if (!is_whole) info_.content.reset();
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    if (position_ == draw_->rows()) return std::nullopt;
    if (columns_.empty()) open_columns();
    PendingSample run;
    run.first_number = position_;
    run.rows = std::min(most_rows, draw_->rows() - position_);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::uint64_t bytes = run.rows * table_.row_bytes(i);
      auto column = std::make_shared<std::vector<std::byte>>(bytes);
      columns_[i].read(*column);
      run.bytes += bytes;
      run.cells.push_back({.place = {.offset = 0, .length = bytes}});
      run.descriptors.push_back(-1);
      run.columns.push_back(std::move(column));
      run.swaps.emplace_back();
    }
    position_ += run.rows;
    return run;
  }

 private:
  void open_columns() {
    const std::uint64_t all = std::max<std::uint64_t>(1, *info_.row_bytes);
    const std::uint64_t memory = limits_.memory_bytes - limits_.memory_bytes / 4;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      // A field's share is that of its bytes.
      const double share = static_cast<double>(table_.row_bytes(i)) / static_cast<double>(all);
      DrawLimits limits = limits_;
      limits.memory_bytes = std::max(
          kLeastDrawMemory, static_cast<std::uint64_t>(share * static_cast<double>(memory)));
      columns_.emplace_back(table_.columns[i](events_), *draw_, limits, quiet_);
    }
  }

  RowTable table_;
  const DrawLimits limits_;
  const Events& events_;
  const Events quiet_;  // for rows that are put in order: samples are counted as they are written
  std::unique_ptr<Draw> draw_;
  SourceInfo info_;
  std::vector<DrawnColumn> columns_;
  std::uint64_t position_ = 0;
};

}  // namespace

std::unique_ptr<Source> make_drawn_source(RowTable table, const DrawRequest& draw,
                                          const DrawLimits& limits, const Events& events) {
  return std::make_unique<DrawnSource>(std::move(table), draw, limits, events);
}

}  // namespace shale
