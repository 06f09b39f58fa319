#include "formats/hdf5/hdf5_rows.hpp"

#include <algorithm>

#include "shale/data/fixed_value.hpp"

namespace shale {

const Hdf5ChunkRun* Hdf5Rows::run_of(std::uint64_t row) {
  if (dataset_->runs.empty()) return nullptr;
  const std::uint64_t chunk = row / per_chunk_;
  const auto holds = [&](const Hdf5ChunkRun& run) {
    return chunk >= run.first && chunk - run.first < run.count;
  };
  if (holds(dataset_->runs[last_run_])) return &dataset_->runs[last_run_];
  const auto behind = std::upper_bound(
      dataset_->runs.begin(), dataset_->runs.end(), chunk,
      [](std::uint64_t number, const Hdf5ChunkRun& run) { return number < run.first; });
  if (behind == dataset_->runs.begin() || !holds(*(behind - 1))) return nullptr;
  last_run_ = static_cast<std::size_t>(behind - 1 - dataset_->runs.begin());
  return &dataset_->runs[last_run_];
}

std::optional<std::uint64_t> Hdf5Rows::locate(std::uint64_t first, std::uint64_t rows) {
  const Hdf5ChunkRun* run = run_of(first);
  if (run == nullptr) return std::nullopt;
  const std::uint64_t last_chunk = (first + rows - 1) / per_chunk_;
  if (last_chunk - run->first >= run->count) return std::nullopt;
  return run->address + (first - run->first * per_chunk_) * row_bytes_;
}

Bytes Hdf5Rows::bytes(std::uint64_t row) { return window_.view(*locate(row), row_bytes_); }

std::uint64_t Hdf5Rows::element(std::uint64_t row) {
  const Bytes stored = bytes(row);
  std::uint64_t value = 0;
  const std::size_t size = std::min(stored.size(), sizeof value);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t at = dataset_->descr[0] == '>' ? i : size - 1 - i;
    value = value << 8 | std::to_integer<std::uint64_t>(stored[at]);
  }
  return value;
}

std::int64_t Hdf5Rows::integer(std::uint64_t row) {
  const std::uint64_t value = element(row);
  const auto unused_bits = static_cast<int>(64 - 8 * row_bytes_);
  if (dataset_->descr[1] == 'u') return static_cast<std::int64_t>(value);
  // Up and down again: the sign comes along.
  return static_cast<std::int64_t>(value << unused_bits) >> unused_bits;
}

IndexCell Hdf5Rows::number(std::uint64_t row, const Field& field) {
  const std::uint64_t value = element(row);
  const auto little = bytes_of(value);
  return read_number(Bytes(little).first(row_bytes_), field);
}

}  // namespace shale
