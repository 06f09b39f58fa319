#include "shale/sources/drawn_source.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "shale/arrays/row_stream.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/io/scratch_file.hpp"
#include "shale/sampling/make_draw.hpp"

namespace shale {
namespace {

// The pieces that drawn rows come in, taken as whole rows.
class DrawnColumn {
 public:
  DrawnColumn(std::unique_ptr<const LocatedRows> rows, const Draw& draw, const DrawLimits& limits,
              const Events& events)
      : rows_(std::move(rows)), drawn_(open_drawn_rows(*rows_, draw, limits, events)) {}

  /// Writes all rows into a scratch file, which they are read from later, and gives the memory
  /// back.
  void settle(std::shared_ptr<ScratchFile> scratch) {
    scratch_ = std::move(scratch);
    offset_ = scratch_->size();
    for (Bytes piece = drawn_->next(); !piece.empty(); piece = drawn_->next())
      scratch_->append(piece);
    drawn_.reset();
    rows_.reset();
  }

  void read(std::span<std::byte> into) {
    if (scratch_) {
      scratch_->read_exact(offset_, into);
      offset_ += into.size();
      return;
    }
    while (!into.empty()) {
      if (left_.empty()) left_ = drawn_->next();
      if (left_.empty()) throw Error(Code::bug, "rows end {} bytes too early", into.size());
      const std::size_t count = std::min(left_.size(), into.size());
      std::memcpy(into.data(), left_.data(), count);
      left_ = left_.subspan(count);
      into = into.subspan(count);
    }
  }

 private:
  std::unique_ptr<const LocatedRows> rows_;
  std::unique_ptr<DrawnRows> drawn_;
  Bytes left_;                            // of the piece that was handed out last
  std::shared_ptr<ScratchFile> scratch_;  // of rows that were settled
  std::uint64_t offset_ = 0;              // where the next ones lie in it
};

// How the memory is divided among the fields that are put in order.
class MemoryShares {
 public:
  MemoryShares(const RowTable& table, const Draw& draw, std::uint64_t memory_bytes)
      : table_(table), memory_(memory_bytes - memory_bytes / 4) {
    // Small fields take less than their share. Where it is not enough, the fields are put in order
    // one after the other, each with all of the memory: another pass over the bytes.
    const std::uint64_t rows = draw.source_rows() + draw.rows();
    std::uint64_t taken = 0;
    for (std::size_t i = 0; i < table.columns.size(); ++i)
      taken += std::min(share_of(i), rows * table.row_bytes(i));
    are_settled_ = table.columns.size() > 1 && taken > memory_;
  }

  /// The fields are written to a scratch file one after the other.
  [[nodiscard]] bool are_settled() const { return are_settled_; }
  [[nodiscard]] std::uint64_t of(std::size_t field) const {
    return are_settled_ ? std::max(memory_, kLeastDrawMemory) : share_of(field);
  }

 private:
  // The least that a field can do with, and of the rest as much as its bytes are.
  [[nodiscard]] std::uint64_t share_of(std::size_t field) const {
    const std::uint64_t least = table_.columns.size() * kLeastDrawMemory;
    const double share = static_cast<double>(table_.row_bytes(field)) /
                         static_cast<double>(std::max<std::uint64_t>(1, *table_.info.row_bytes));
    const double rest = static_cast<double>(memory_ - std::min(memory_, least));
    return kLeastDrawMemory + static_cast<std::uint64_t>(share * rest);
  }

  const RowTable& table_;
  std::uint64_t memory_;
  bool are_settled_ = false;
};

// What stays in the scratch folder until the last row is read.
std::uint64_t kept_scratch(const RowTable& table, const Draw& draw, std::uint64_t memory_bytes) {
  const MemoryShares shares(table, draw, memory_bytes);
  if (shares.are_settled()) return draw.rows() * *table.info.row_bytes;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    bytes += plan_drawn_rows(table.row_bytes(i), draw.source_rows(), draw.rows(), shares.of(i),
                             draw.costs())
                 .scratch_bytes;
  }
  return bytes;
}

class DrawnSource final : public Source {
 public:
  DrawnSource(RowTable table, const DrawRequest& draw, const DrawLimits& limits,
              const Events& events)
      : table_(std::move(table)),
        limits_(limits),
        events_(events),
        quiet_{{.should_stop = events.should_stop}},
        draw_(make_draw(draw, table_.info.manifest.samples, limits.memory_bytes / 4,
                        limits.scratch_folder, events)) {
    info_ = table_.info;
    info_.ignored = info_.skipped = 0;  // whose lists stay with the dataset that is drawn from
    info_.memory_bytes = limits.memory_bytes;
    info_.manifest.samples = draw_->rows();
    info_.manifest.bytes = draw_->rows() * *info_.row_bytes;
    const bool is_whole = draw.mode == DrawMode::permute && draw_->rows() == draw_->source_rows();
    // What is drawn has not the digest of the whole; the files are proved before.
    if (!is_whole) info_.digest.reset();
    if (info_.digest) info_.digest->ordered = {};
    info_.scratch_folder = limits.scratch_folder;
    info_.scratch_bytes = kept_scratch(table_, *draw_, limits.memory_bytes);
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  // Before the first row it costs nothing.
  void skip(std::uint64_t samples) override {
    if (!columns_.empty() || samples > draw_->rows()) return Source::skip(samples);
    narrow(first_number_ + samples, draw_->rows() - samples);
  }

  // Only these are read and put in order.
  void narrow(std::uint64_t first, std::uint64_t samples) override {
    draw_ = part_of_draw(std::move(draw_), first - first_number_, samples);
    first_number_ = first;
    info_.scratch_bytes = kept_scratch(table_, *draw_, limits_.memory_bytes);
  }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    if (position_ == draw_->rows()) return std::nullopt;
    if (columns_.empty()) open_columns();
    PendingSample run;
    run.first_number = first_number_ + position_;
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
    const MemoryShares shares(table_, *draw_, limits_.memory_bytes);
    if (shares.are_settled())
      require_free_space(limits_.scratch_folder, draw_->rows() * *info_.row_bytes);
    const auto scratch =
        shares.are_settled() ? std::make_shared<ScratchFile>(limits_.scratch_folder) : nullptr;
    for (std::size_t i = 0; i < table_.columns.size(); ++i) {
      DrawLimits limits = limits_;
      limits.memory_bytes = shares.of(i);
      const RowColumn& column = table_.columns[i];
      require_free_space(limits_.scratch_folder, column.scratch.most);
      columns_.emplace_back(column.locate(events_), *draw_, limits, quiet_);
      if (shares.are_settled()) columns_.back().settle(scratch);
    }
  }

  RowTable table_;
  const DrawLimits limits_;
  const Events& events_;
  const Events quiet_;  // for rows that are put in order: samples are counted as they are written
  std::unique_ptr<Draw> draw_;
  SourceInfo info_;
  std::vector<DrawnColumn> columns_;
  std::uint64_t position_ = 0, first_number_ = 0;
};

}  // namespace

std::vector<DrawPlan> plan_drawn_source(const RowTable& table, const Draw& draw,
                                        std::uint64_t memory_bytes) {
  const MemoryShares shares(table, draw, memory_bytes);
  std::vector<DrawPlan> plans;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const std::uint64_t row_bytes = table.row_bytes(i), bytes = draw.rows() * row_bytes;
    DrawPlan& plan = plans.emplace_back(with_source(
        plan_drawn_rows(row_bytes, draw.source_rows(), draw.rows(), shares.of(i), draw.costs()),
        table.columns[i].scratch, draw));
    if (!shares.are_settled()) continue;
    plan.passes += 1;
    plan.read_bytes += bytes;
    plan.written_bytes += bytes;
    plan.scratch_bytes += bytes;
  }
  return plans;
}

std::unique_ptr<Source> make_drawn_source(RowTable table, const DrawRequest& draw,
                                          const DrawLimits& limits, const Events& events) {
  return std::make_unique<DrawnSource>(std::move(table), draw, limits, events);
}

}  // namespace shale
