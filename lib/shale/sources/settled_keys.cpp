#include "shale/sources/settled_keys.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "shale/base/checksum.hpp"
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

// The names of the files, without their folders if those are not needed to tell them apart.
std::vector<std::string> prefixes_of(const ShardList& shards) {
  std::vector<std::string> whole, last;
  for (const ManifestShard& shard : shards) {
    whole.push_back(shard.name + "/");
    last.push_back(whole.back().substr(shard.name.rfind('/') + 1));
  }
  return std::set<std::string>(last.begin(), last.end()).size() == last.size() ? last : whole;
}

}  // namespace

std::string key_at(const ShardReader& shard, IndexReader& index, std::uint64_t row) {
  const FieldPlace place = index.row(row).key;
  const InputFile& file = shard.file_of_key();
  std::string key(std::min(place.length, file.size()), '\0');
  file.read_exact(place.offset, std::as_writable_bytes(std::span(key)));
  return key;
}

void settle_keys(OpenedDataset& dataset, const std::string& scratch_folder,
                 const std::function<void()>& stop_if_asked) {
  // One of which samples are taken that are whole may be short.
  OpenShards open(dataset.paths, dataset.manifest, dataset.shards, {}, true);
  const auto key_of_row = [&](std::uint64_t row, std::uint64_t number) {
    ShardCursor& shard = open.at(number);
    return key_at(*shard.reader, *shard.index, row - dataset.shards.first_row(number));
  };
  SortedTable<HashOfRow> hashes(scratch_folder, kSortBytes);
  for (std::uint64_t number = 0; number < dataset.shards.size(); ++number) {
    IndexReader& index = *open.at(number).index;
    for (std::uint64_t row = 0; row < index.rows(); ++row) {
      if (row % kRowsBetweenStops == 0) stop_if_asked();
      // In the order of its bytes in the index: of several keys the same one is named everywhere.
      hashes.add({read_big_endian(as_text(bytes_of(index.row(row).key_hash))),
                  dataset.shards.first_row(number) + row});
    }
  }
  hashes.finish();
  bool is_several = false;
  const auto place_of = [&](std::uint64_t row, std::uint64_t number) {
    return open.at(number).index->row(row - dataset.shards.first_row(number)).key.offset;
  };
  hashes.for_each_repeated(&HashOfRow::hash, [&](const HashOfRow& one, const HashOfRow& other) {
    stop_if_asked();
    const std::uint64_t first = dataset.shards.holding(one.row),
                        second = dataset.shards.holding(other.row);
    if (first != second && is_several) return;
    const std::string key = key_of_row(other.row, second);
    if (key != key_of_row(one.row, first)) return;
    // One key, with several values behind one another.
    const bool is_one = first == second && other.row == one.row + 1 &&
                        place_of(one.row, first) == place_of(other.row, second);
    if (first == second && !is_one) throw key_is_not_unique(key);
    (is_one ? dataset.has_repeated_keys : is_several) = true;
  });
  if (dataset.has_repeated_keys) {
    dataset.notes.push_back(
        "keys have several values: each is a sample, and its number is behind its key, as in "
        "'key/0'");
  }
  if (!is_several) return;
  dataset.key_prefixes = prefixes_of(dataset.shards);
  dataset.notes.push_back(
      "the same keys are in several of the files: each gets the name of its file in front");
}

std::string RepeatedKeys::behind_key(ShardCursor& shard, std::uint64_t row) {
  const std::uint64_t offset = shard.index->row(row).key.offset;
  const bool is_next = shard.number == shard_ && offset == offset_ && row == row_ + 1;
  if (!is_next) {
    begin_ = row;
    const auto is_before = [&](std::uint64_t step) {
      return begin_ >= step && shard.index->row(begin_ - step).key.offset == offset;
    };
    std::uint64_t step = 1;
    for (; is_before(step); step *= 2) begin_ -= step;
    for (; step > 0; step /= 2)
      if (is_before(step)) begin_ -= step;
  }
  shard_ = shard.number;
  offset_ = offset;
  row_ = row;
  return "/" + std::to_string(row - begin_);
}

}  // namespace shale
