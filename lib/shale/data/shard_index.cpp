#include "shale/data/shard_index.hpp"

namespace shale {

void move_places(IndexRow& row, std::uint64_t key_base, std::span<const std::uint64_t> field_bases,
                 std::uint64_t record_base) {
  const auto move = [](std::uint64_t& offset, std::uint64_t base) {
    if (offset != kMissing) offset += base;
  };
  move(row.key.offset, key_base);
  move(row.record_offset, record_base);
  for (std::size_t i = 0; i < row.cells.size(); ++i)
    move(row.cells[i].place.offset, field_bases[i]);
}

}  // namespace shale
