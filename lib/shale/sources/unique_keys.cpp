#include "shale/sources/unique_keys.hpp"

#include <algorithm>
#include <optional>

#include "shale/base/error.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/key_check.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kSortBytes = 4 << 20, kRowsBetweenStops = 4096;

struct HashOfRow {
  std::uint64_t hash = 0, row = 0;  // of a key
  static auto columns(auto& row) { return std::tie(row.hash, row.row); }
};

std::string key_at(const ShardReader& shard, IndexReader& index, std::uint64_t row) {
  const FieldPlace place = index.row(row).key;
  const InputFile& file = shard.file_of_key();
  std::string key(std::min(place.length, file.size()), '\0');
  file.read_exact(place.offset, std::as_writable_bytes(std::span(key)));
  return key;
}

}  // namespace

void refuse_equal_keys(const OpenedDataset& dataset, const std::string& scratch_folder,
                       const std::function<void()>& stop_if_asked) {
  for (const ManifestShard& entry : dataset.shards) {
    const ShardReader shard(dataset.paths, dataset.manifest, entry);
    IndexReader index = shard.open_index();
    SortedTable<HashOfRow> hashes(scratch_folder, kSortBytes);
    for (std::uint64_t row = 0; row < index.rows(); ++row) {
      if (row % kRowsBetweenStops == 0) stop_if_asked();
      // In the order of its bytes in the index: of several keys the same one is named everywhere.
      hashes.add({read_big_endian(as_text(bytes_of(index.row(row).key_hash))), row});
    }
    hashes.finish();
    std::optional<HashOfRow> previous;
    while (const std::optional<HashOfRow> next = hashes.next()) {
      if (previous && next->hash == previous->hash) {
        stop_if_asked();
        const std::string key = key_at(shard, index, next->row);
        if (key == key_at(shard, index, previous->row)) throw key_is_not_unique(key);
      }
      previous = next;
    }
  }
}

}  // namespace shale
