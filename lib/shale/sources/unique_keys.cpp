#include "shale/sources/unique_keys.hpp"

#include <algorithm>
#include <optional>

#include "shale/base/error.hpp"
#include "shale/io/external_sorter.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/key_check.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kSortBytes = 4 << 20, kRowsBetweenStops = 4096;

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
    ExternalSorter hashes(scratch_folder, kSortBytes);  // hash of a key, and its row
    for (std::uint64_t row = 0; row < index.rows(); ++row) {
      if (row % kRowsBetweenStops == 0) stop_if_asked();
      const std::uint64_t hash = index.row(row).key_hash;
      hashes.add(std::string(as_text(bytes_of(hash))).append(as_text(bytes_of(row))));
    }
    hashes.finish();
    std::string previous;
    while (const std::optional<std::string_view> next = hashes.next()) {
      constexpr std::size_t kHashBytes = sizeof(std::uint64_t);
      const auto row_of = [](std::string_view pair) {
        return ByteReader(as_bytes(pair.substr(kHashBytes))).read_u64();
      };
      if (!previous.empty() && next->substr(0, kHashBytes) == previous.substr(0, kHashBytes)) {
        stop_if_asked();
        const std::string key = key_at(shard, index, row_of(*next));
        if (key == key_at(shard, index, row_of(previous))) throw key_is_not_unique(key);
      }
      previous = *next;
    }
  }
}

}  // namespace shale
