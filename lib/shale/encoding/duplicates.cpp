#include "shale/encoding/duplicates.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/ranges.h>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/path_text.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/data/mismatch.hpp"
#include "shale/encoding/encode_batch.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/shards/dataset_reader.hpp"

// In passes, each in the order of the disk: the checksums of all rows, sorted; of those that are
// there more than once the hashes of the values, sorted; of those the rows, sorted. Hashes and keys
// are what the run has noted as it wrote them (written_images.hpp): shards are not in the page
// cache then. What it has not is read.

namespace shale {
namespace {

constexpr std::uint64_t kDuplicateReadBytes = 1 << 20, kPlacesBetweenStops = 4096;
// A longer key is listed as the number of its sample: a row may hold two.
constexpr std::uint64_t kLongestListedKey = WrittenImages::kLongestKey;
constexpr std::uint64_t kShownPairs = 3;
constexpr std::string_view kSplitListHeader[] = {"key",   "split",       "label",
                                                 "first", "first_split", "first_label"};

struct ChecksumOfRow {
  std::uint64_t length = 0;
  std::uint32_t count = 0, crc32c = 0;
  std::uint64_t row = 0;
  static auto columns(auto& of) { return std::tie(of.length, of.count, of.crc32c, of.row); }
  [[nodiscard]] bool has_facts_of(const ChecksumOfRow& other) const {
    return length == other.length && count == other.count && crc32c == other.crc32c;
  }
};

struct RowNumber {
  std::uint64_t row = 0;
  static auto columns(auto& of) { return std::tie(of.row); }
};

struct ContentOfRow {
  Hash128 hash;
  std::uint64_t row = 0, label = 0;
  std::string key;
  static auto columns(auto& of) { return std::tie(of.hash, of.row, of.label, of.key); }
};

struct RepeatedRow {
  std::uint64_t row = 0, first_row = 0, label = 0, first_label = 0, key_bytes = 0;
  std::string keys;  // its own, that of the first one
  static auto columns(auto& of) {
    return std::tie(of.row, of.first_row, of.label, of.first_label, of.key_bytes, of.keys);
  }
};

// Shards with one manifest: of a dataset, or of one of several.
struct Side {
  const Manifest& manifest;
  ShardsIn shards;
  bool is_proved = true;  // false: somebody else may have written them, long ago
  std::size_t field = field_of_duplicates(manifest).value();
  std::optional<std::size_t> label = label_of(manifest);
  std::uint64_t end = 0;  // behind its last row
};

std::vector<Side> sides_of(const Manifest& manifest, const DuplicateSearch& search) {
  std::vector<Side> sides;
  for (const ShardsIn& some : search.shards)
    sides.push_back({.manifest = manifest, .shards = some});
  return sides;
}

class DuplicateFinder {
 public:
  DuplicateFinder(std::vector<Side> sides, const DuplicateSearch& search, const Events& events)
      : sides_(std::move(sides)), search_(search), events_(events) {}

  FoundDuplicates find() {
    SortedTable<RepeatedRow> found = repeated();
    FoundDuplicates duplicates;
    CsvList list(search_.folder, search_.list_name, {"key", "label", "first", "first_label"});
    while (const std::optional<RepeatedRow> row = found.next()) {
      ++duplicates.counts.samples;
      if (row->label != row->first_label) ++duplicates.counts.relabelled;
      list.add({row->keys.substr(0, row->key_bytes), label_text(sides_.front(), row->label),
                row->keys.substr(row->key_bytes), label_text(sides_.front(), row->first_label)});
    }
    duplicates.list = list.finish();
    return duplicates;
  }

  // Each side is a split. The list has all that are there more than once, so that a new split
  // without them has none in two.
  SplitDuplicates find_in_splits(const std::vector<ImagesOfSplit>& splits) {
    SortedTable<RepeatedRow> found = repeated();
    SplitDuplicates duplicates;
    CsvList list(search_.folder, search_.list_name,
                 {std::begin(kSplitListHeader), std::end(kSplitListHeader)});
    while (const std::optional<RepeatedRow> row = found.next()) {
      const std::size_t side = side_of(row->row), first = side_of(row->first_row);
      const std::string key = row->keys.substr(0, row->key_bytes),
                        first_key = row->keys.substr(row->key_bytes);
      if (!search_.list_name.empty()) {
        list.add({key, splits[side].name, label_text(sides_[side], row->label), first_key,
                  splits[first].name, label_text(sides_[first], row->first_label)});
      }
      if (side == first) continue;
      if (duplicates.samples++ < kShownPairs)
        duplicates.examples.push_back({{splits[first].name, first_key}, {splits[side].name, key}});
    }
    if (list.finish()) duplicates.list = join_path(search_.folder, search_.list_name);
    return duplicates;
  }

 private:
  template <class Row>
  [[nodiscard]] SortedTable<Row> new_table() const {
    return {search_.folder, search_.memory_bytes / 2};
  }

  template <class Row>
  [[nodiscard]] SortedTable<Row> none() const {
    auto table = new_table<Row>();
    table.finish();
    return table;
  }

  // A shard, whose it is, and the number of its first row over all.
  template <class Use>
  void for_each_shard(const Use& use) {
    std::uint64_t row = 0;
    for (Side& side : sides_) {
      side.shards.for_each([&](const ManifestShard& shard) {
        use(ShardReader(side.shards.paths, side.manifest, shard), side, row);
        row += shard.digest.samples;
      });
      side.end = row;
    }
  }

  [[nodiscard]] std::size_t side_of(std::uint64_t row) const {
    const auto found = std::ranges::upper_bound(sides_, row, {}, &Side::end);
    return static_cast<std::size_t>(found - sides_.begin());
  }

  SortedTable<RowNumber> rows_with_equal_checksums() {
    auto checksums = new_table<ChecksumOfRow>();
    for_each_shard([&](const ShardReader& shard, const Side& side, std::uint64_t first_row) {
      if (!side.is_proved) shard.prove_index([&](auto) { events_.stop_if_asked(); });
      const std::uint64_t position = shard.columns().position_of(side.field);
      IndexReader index = shard.open_index();
      for (std::uint64_t row = 0; row < index.rows(); ++row) {
        if (row % kPlacesBetweenStops == 0) events_.stop_if_asked();
        const FieldPlace place = index.place(row, position);
        if (place.offset == kMissing || place.length == 0) continue;
        checksums.add({place.length, place.count, place.crc32c, first_row + row});
      }
    });
    checksums.finish();
    auto rows = new_table<RowNumber>();
    std::optional<ChecksumOfRow> previous;
    bool is_added = false;
    while (const std::optional<ChecksumOfRow> next = checksums.next()) {
      const bool is_same = previous && next->has_facts_of(*previous);
      if (is_same && !is_added) rows.add({previous->row});
      if (is_same) rows.add({next->row});
      is_added = is_same;
      previous = next;
    }
    rows.finish();
    return rows;
  }

  // Of these rows, which ascend.
  SortedTable<ContentOfRow> contents_of(SortedTable<RowNumber>& rows) {
    auto contents = new_table<ContentOfRow>();
    for_each_shard([&](const ShardReader& shard, const Side& side, std::uint64_t first_row) {
      if (rows.row() == nullptr || rows.row()->row >= first_row + shard.shard().digest.samples)
        return;
      IndexReader index = shard.open_index();
      for (; rows.row() != nullptr && rows.row()->row < first_row + index.rows(); rows.step()) {
        const std::uint64_t number = rows.row()->row;
        const IndexRow row = index.row(number - first_row);
        const std::int64_t label = side.label ? row.cells[*side.label].integer : 0;
        const std::optional<WrittenImages::Image> noted = noted_of(side, row, number);
        contents.add({noted ? noted->hash : hash_of(shard, side, row.cells[side.field].place),
                      number, static_cast<std::uint64_t>(label),
                      noted ? noted->key : key_of(shard, side, row, number)});
      }
    });
    contents.finish();
    return contents;
  }

  SortedTable<RepeatedRow> repeated() {
    auto found = new_table<RepeatedRow>();
    SortedTable<RowNumber> rows = rows_with_equal_checksums();
    SortedTable<ContentOfRow> contents =
        rows.count() > 0 ? contents_of(rows) : none<ContentOfRow>();
    std::optional<ContentOfRow> first;
    while (std::optional<ContentOfRow> next = contents.next()) {
      if (!first || next->hash != first->hash) {
        first = std::move(next);
      } else if (next->row >= search_.first_row) {
        found.add({next->row, first->row, next->label, first->label, next->key.size(),
                   next->key + first->key});
      }
    }
    found.finish();
    return found;
  }

  // What the run knows of a row, with the key as it is listed. The index has to agree.
  [[nodiscard]] std::optional<WrittenImages::Image> noted_of(const Side& side, const IndexRow& row,
                                                             std::uint64_t number) const {
    WrittenImages* const written = search_.written;
    if (written == nullptr || written->field() != side.field || number < search_.written_from)
      return std::nullopt;
    std::optional<WrittenImages::Image> image = written->image_of(number - search_.written_from);
    if (!image) return std::nullopt;
    if (lists_number_of(side, row)) {
      image->key = std::to_string(number);
    } else if (image->key.size() != row.key.length ||
               crc32c(as_bytes(image->key)) != row.key.crc32c) {
      return std::nullopt;
    }
    return image;
  }

  Hash128 hash_of(const ShardReader& shard, const Side& side, const FieldPlace& place) {
    const InputFile& file = shard.file_of_field(side.field);
    Hasher128 hasher = begin_image_hash(side.manifest.schema, side.field, place.length);
    std::uint32_t found = 0;
    for (std::uint64_t done = 0; done < place.length; done += piece_.size()) {
      events_.stop_if_asked();
      piece_.resize(std::min(kDuplicateReadBytes, place.length - done));
      file.read_exact(place.offset + done, piece_);
      hasher.update(piece_);
      found = crc32c(piece_, found);
    }
    if (found != place.crc32c)
      throw checksum_mismatch(place.length, found, place.crc32c)
          .error()
          .at(file.path(), place.offset);
    return hasher.digest();
  }

  [[nodiscard]] static bool lists_number_of(const Side& side, const IndexRow& row) {
    return !side.manifest.layout.has_keys || row.key.length > kLongestListedKey;
  }

  [[nodiscard]] std::string key_of(const ShardReader& shard, const Side& side, const IndexRow& row,
                                   std::uint64_t number) const {
    if (lists_number_of(side, row)) return std::to_string(number);
    const InputFile& file = shard.file_of_key();
    std::string key(row.key.length, '\0');
    file.read_exact(row.key.offset, std::as_writable_bytes(std::span(key)));
    prove_value(as_bytes(key), row.key, file);
    return key;
  }

  // The class, or the label itself; nothing where samples have none.
  [[nodiscard]] static std::string label_text(const Side& side, std::uint64_t label) {
    if (!side.label) return {};
    if (label < side.manifest.classes.size()) return side.manifest.classes[label];
    return std::to_string(static_cast<std::int64_t>(label));
  }

  std::vector<Side> sides_;
  const DuplicateSearch& search_;
  const Events& events_;
  std::vector<std::byte> piece_;
};

}  // namespace

std::optional<std::size_t> field_of_duplicates(const Manifest& manifest) {
  const std::vector<std::size_t> fields = image_fields_of(manifest);
  if (fields.empty() || !manifest.layout.has_value_checksums()) return std::nullopt;
  return fields.front();
}

FoundDuplicates find_duplicates(const Manifest& manifest, const DuplicateSearch& search,
                                const Events& events) {
  return DuplicateFinder(sides_of(manifest, search), search, events).find();
}

bool is_split_list(const std::string& path) {
  if (!stands(path)) return false;
  const std::string header = fmt::format("{}\n", fmt::join(kSplitListHeader, ","));
  const InputFile file(path);
  std::string head(std::min<std::uint64_t>(header.size(), file.size()), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(head)));
  return head == header;
}

SplitDuplicates find_duplicates(const std::vector<ImagesOfSplit>& splits,
                                const DuplicateSearch& search, const Events& events) {
  std::vector<Side> sides;
  sides.reserve(splits.size());
  for (const ImagesOfSplit& split : splits)
    sides.push_back({.manifest = split.manifest, .shards = split.shards, .is_proved = false});
  return DuplicateFinder(std::move(sides), search, events).find_in_splits(splits);
}

void report_duplicates(Manifest& manifest, const DuplicateSearch& search, const Events& events) {
  if (!field_of_duplicates(manifest)) return;
  FoundDuplicates found = find_duplicates(manifest, search, events);
  manifest.images->duplicates = found.counts;
  if (found.list) manifest.files.push_back(std::move(*found.list));
}

}  // namespace shale
