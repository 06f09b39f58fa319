#include "shale/format/column_spill.hpp"

#include <algorithm>
#include <utility>

namespace shale {
namespace {

constexpr std::uint64_t kBufferBytes = 4 << 20, kSmallestPiece = 4096, kLargestPiece = 64 * 1024;

}  // namespace

ColumnSpill::ColumnSpill(std::string directory, std::size_t columns)
    : directory_(std::move(directory)),
      piece_bytes_(std::clamp(kBufferBytes / std::max<std::uint64_t>(columns, 1), kSmallestPiece,
                              kLargestPiece)),
      columns_(columns) {}

void ColumnSpill::append(std::size_t column, Bytes bytes) {
  Column& grown = columns_[column];
  while (!bytes.empty()) {
    if (grown.rest.size() == piece_bytes_) flush(grown);
    const Bytes next =
        bytes.first(std::min<std::uint64_t>(bytes.size(), piece_bytes_ - grown.rest.size()));
    grown.rest.insert(grown.rest.end(), next.begin(), next.end());
    bytes = bytes.subspan(next.size());
  }
}

void ColumnSpill::flush(Column& column) {
  if (!scratch_) scratch_.emplace(directory_);
  column.pieces.push_back(scratch_->size());
  scratch_->append(column.rest);
  column.rest.clear();
}

void ColumnSpill::read(std::size_t column, const std::function<void(Bytes)>& use) {
  const Column& chosen = columns_[column];
  std::vector<std::byte> piece(chosen.pieces.empty() ? 0 : piece_bytes_);
  for (const std::uint64_t begin : chosen.pieces) {
    scratch_->read_exact(begin, piece);
    use(piece);
  }
  if (!chosen.rest.empty()) use(chosen.rest);
}

}  // namespace shale
