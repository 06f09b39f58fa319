#include <algorithm>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/dtype.hpp"
#include "shale/loading/extent_reading.hpp"
#include "shale/loading/fixed_loading.hpp"
#include "shale/loading/loader.hpp"
#include "shale/loading/loader_state.hpp"
#include "shale/shards/rebuild_hint.hpp"

// Loader::column and read_column: a column of the index, or of rows of one size.

namespace shale {
namespace {

constexpr std::uint64_t kColumnChunkBytes = 1 << 20;

// From `row` of a shard on.
void read_index_column(const OpenShard& shard, const ColumnPlace& column, std::uint64_t row,
                       std::span<std::byte> into, const LoaderState& state) {
  const IndexColumns& columns = shard.reader.columns();
  const std::uint64_t row_bytes = columns.row_bytes();
  const std::uint64_t most = std::max<std::uint64_t>(1, kColumnChunkBytes / row_bytes);
  std::vector<std::byte> chunk;
  std::byte* next = into.data();
  for (std::uint64_t left = into.size() / column.item_bytes, count = 0; left > 0; left -= count) {
    count = std::min(most, left);
    chunk.resize(count * row_bytes);
    const Extent rows{shard.reader.index_file(), columns.file_bytes(row), chunk};
    read_extent(rows);
    if (!state.keeps_index_cached()) drop_cache({&rows, 1});
    for (std::uint64_t i = 0; i < count; ++i)
      next = std::copy_n(&chunk[i * row_bytes + column.position], column.item_bytes, next);
    row += count;
  }
}

}  // namespace

std::string Loader::hint_of_index(std::uint64_t number) const {
  return rebuild_hint(paths_.lists,
                      join_path(paths_.shards, shard_facts(number).files.front().name));
}

ColumnPlace Loader::column(std::string_view name) const {
  if (manifest().layout.rows.has_strides()) {
    try {
      return fixed_column_named(name, manifest().schema);
    } catch (Error& error) {
      error.at(paths_.manifest);
      throw;
    }
  }
  const IndexColumns columns(manifest().schema, manifest().layout);
  std::uint64_t position = 0;
  std::string names;
  for (const auto& named : columns.names_and_types()) {
    const auto& [column, descr] = named;
    const std::uint64_t item_bytes = DType::packed({&named, 1}).item_bytes();
    if (column == name) return {descr, position, item_bytes};
    position += item_bytes;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", printable(column));
  }
  throw Error(Code::not_found, "the index has no column '{}'", printable(name))
      .at(paths_.manifest)
      .hint("it has " + names);
}

void Loader::read_column(const ColumnPlace& column, std::uint64_t begin,
                         std::span<std::byte> into) const {
  watching([&] {
    const std::uint64_t end = begin + into.size() / column.item_bytes;
    if (end > size()) {
      throw Error(Code::not_found, "rows {} to {} of a column requested, but the dataset has {}",
                  begin, end, size());
    }
    LoaderState& open = state();
    for (std::uint64_t row = begin; row < end;) {
      const std::uint64_t number = shard_of(row);
      const ShardLine& line = outline_.shards[number];
      const std::uint64_t count = std::min(line.first_row + line.samples, end) - row;
      const std::span<std::byte> part =
          into.subspan((row - begin) * column.item_bytes, count * column.item_bytes);
      const OpenShardPointer shard = open.shard(number);
      if (column.field) {
        read_fixed_column(*shard, *column.field, row - line.first_row, part, open);
      } else {
        read_index_column(*shard, column, row - line.first_row, part, open);
      }
      row += count;
    }
  });
}

}  // namespace shale
