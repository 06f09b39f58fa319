#include "shale/verify/index_window.hpp"

#include <algorithm>
#include <array>

namespace shale {
namespace {

constexpr std::uint64_t kReadAtOnce = 64 * 1024, kMostHeld = 2 << 20;
constexpr std::uint64_t kMostPlaceBytes = 20;
// Where values lie column by column, each column goes through all of the index: of long rows only
// its own bytes are read.
constexpr std::uint64_t kLongRow = 4096;

}  // namespace

IndexWindow::IndexWindow(const ShardReader& shard)
    : file_(*shard.index_file()),
      columns_(shard.columns()),
      rows_(shard.shard().digest.samples),
      row_bytes_(columns_.row_bytes()),
      place_bytes_(shard.has_checksums() ? kMostPlaceBytes : kMostPlaceBytes - 4),
      reads_places_(!columns_.has_whole_records() && row_bytes_ > kLongRow) {}

IndexRow IndexWindow::row(std::uint64_t row) { return columns_.decode(bytes_of(row)); }

FieldPlace IndexWindow::place(std::uint64_t row, std::uint64_t position) {
  if (reads_places_) return distant_place(row, position);
  return columns_.decode_place_at(bytes_of(row), position);
}

FieldPlace IndexWindow::distant_place(std::uint64_t row, std::uint64_t position) {
  if (holds(row)) return columns_.decode_place_at(bytes_of(row), position);
  std::array<std::byte, kMostPlaceBytes> bytes{};
  read_distant(row, position, std::span(bytes).first(place_bytes_));
  return columns_.decode_place_at(bytes, 0);
}

std::uint64_t IndexWindow::distant_record(std::uint64_t row) {
  std::array<std::byte, 8> bytes{};
  read_distant(row, columns_.record_position(), bytes);
  return ByteReader(bytes).read_u64();
}

void IndexWindow::read_distant(std::uint64_t row, std::uint64_t position,
                               std::span<std::byte> into) const {
  file_.read_exact(columns_.file_bytes(row) + position, into);
}

Bytes IndexWindow::bytes_of(std::uint64_t row) {
  if (holds(row)) return Bytes(held_).subspan((row - begin_) * row_bytes_, row_bytes_);
  if (row < begin_ && row == stray_row_) return stray_;
  if (row < begin_ && row != stray_row_ + 1) {
    stray_row_ = ~std::uint64_t{0};
    stray_.resize(row_bytes_);
    read_distant(row, 0, stray_);
    stray_row_ = row;
    return stray_;
  }
  if (row < begin_) begin_at(row);  // a reader that begins further in front
  read_on(row);
  return Bytes(held_).subspan((row - begin_) * row_bytes_, row_bytes_);
}

void IndexWindow::begin_at(std::uint64_t row) {
  held_.clear();
  begin_ = end_ = row;
}

// Rows up to this one, and some behind it.
void IndexWindow::read_on(std::uint64_t row) {
  const std::uint64_t at_once = std::max<std::uint64_t>(1, kReadAtOnce / row_bytes_);
  if (row - end_ >= at_once || held_.empty()) begin_at(row);
  const std::uint64_t most = std::max<std::uint64_t>(2 * at_once, kMostHeld / row_bytes_);
  if (end_ - begin_ + at_once > most) {
    const std::uint64_t dropped = (end_ - begin_) / 2;
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(dropped * row_bytes_));
    begin_ += dropped;
  }
  const std::uint64_t end = std::min(rows_, row + at_once);
  held_.resize((end - begin_) * row_bytes_);
  const auto fresh = std::span(held_).subspan((end_ - begin_) * row_bytes_);
  file_.read_exact(columns_.file_bytes(end_), fresh);
  end_ = end;
}

}  // namespace shale
