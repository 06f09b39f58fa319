#include "shale/ops/part_keys.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/folders/folder_source.hpp"
#include "shale/folders/frames_source.hpp"
#include "shale/folders/list_source.hpp"
#include "shale/io/external_sorter.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/key_check.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kSortBytes = 4 << 20, kNumberBytes = sizeof(std::uint64_t);
constexpr std::size_t kHashesBetweenStops = 4096;

// Where a sample is: dataset, shard, row.
using KeyPlace = std::array<std::uint64_t, 3>;

std::string entry_of(std::uint64_t hash, const KeyPlace& place) {
  std::string entry;
  append_big_endian(entry, hash);
  for (const std::uint64_t number : place) append_big_endian(entry, number);
  return entry;
}

KeyPlace place_of(std::string_view entry) {
  KeyPlace place{};
  for (std::size_t i = 0; i < place.size(); ++i)
    place[i] = read_big_endian(entry.substr((i + 1) * kNumberBytes, kNumberBytes));
  return place;
}

std::string key_at(const std::vector<std::string>& datasets, const KeyPlace& at) {
  const DatasetPaths paths(datasets[at[0]]);
  const ShardList shards = open_shard_list(paths);
  const ShardReader shard(paths, shards.manifest(), shards[at[1]]);
  const FieldPlace place = shard.open_index().row(at[2]).key;
  const InputFile& file = shard.file_of_key();
  std::string key(std::min(place.length, file.size()), '\0');
  file.read_exact(place.offset, std::as_writable_bytes(std::span(key)));
  prove_value(as_bytes(key), place, file);
  return key;
}

}  // namespace

bool has_unique_keys(const Manifest& manifest) {
  constexpr std::string_view kArrays = "arrays";
  const std::string& kind = manifest.source.kind;
  return !manifest.layout.has_keys || !manifest.schema.has_keys || kind == kImageFolder ||
         kind == kClassFolders || kind == kFlatFolder || kind == kVideoFrames || kind == kArrays ||
         kind == kFileList || kind == kDatasetKind;
}

void refuse_keys_in_common(const std::vector<std::string>& datasets,
                           const std::string& scratch_folder, const Events& events) {
  ExternalSorter hashes(scratch_folder, kSortBytes);
  for (std::uint64_t dataset = 0; dataset < datasets.size(); ++dataset) {
    const DatasetPaths paths(datasets[dataset]);
    const ShardList shards = open_shard_list(paths);
    for (std::uint64_t number = 0; number < shards.size(); ++number) {
      const ShardReader shard(paths, shards.manifest(), shards[number]);
      shard.prove_index([&](auto) { events.stop_if_asked(); });
      IndexReader index = shard.open_index();
      for (std::uint64_t row = 0; row < index.rows(); ++row) {
        if (row % kHashesBetweenStops == 0) events.stop_if_asked();
        hashes.add(entry_of(index.row(row).key_hash, {dataset, number, row}));
      }
    }
  }
  hashes.finish();
  std::string previous;
  while (const std::optional<std::string_view> next = hashes.next()) {
    if (!previous.empty() && next->substr(0, kNumberBytes) == previous.substr(0, kNumberBytes)) {
      events.stop_if_asked();
      const std::string key = key_at(datasets, place_of(*next));
      if (key == key_at(datasets, place_of(previous))) throw key_is_not_unique(key);
    }
    previous = *next;
  }
}

}  // namespace shale
