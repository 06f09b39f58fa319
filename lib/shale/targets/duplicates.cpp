#include "shale/targets/duplicates.hpp"

#include <algorithm>
#include <functional>
#include <span>
#include <tuple>
#include <utility>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/encoding/encode_batch.hpp"
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
  std::uint64_t row = 0, label = 0, first_label = 0, key_bytes = 0;
  std::string keys;  // its own, that of the first one
  static auto columns(auto& of) {
    return std::tie(of.row, of.label, of.first_label, of.key_bytes, of.keys);
  }
};

// A shard, and the number of its first row in the dataset.
using UseShard = std::function<void(const ShardReader& shard, std::uint64_t first_row)>;

void for_each_shard_of(const Manifest& manifest, const DuplicateSearch& search,
                       const UseShard& use) {
  std::uint64_t row = 0;
  for (const ShardsIn& some : search.shards) {
    some.for_each([&](const ManifestShard& shard) {
      use(ShardReader(some.paths, manifest, shard), row);
      row += shard.digest.samples;
    });
  }
}

class DuplicateFinder {
 public:
  DuplicateFinder(const Manifest& manifest, const DuplicateSearch& search, const Events& events)
      : manifest_(manifest),
        search_(search),
        events_(events),
        field_(field_of_duplicates(manifest).value()),
        label_(manifest.schema.find("label")) {
    if (label_ && manifest.schema.fields[*label_].kind != Kind::integer) label_.reset();
  }

  FoundDuplicates find() {
    SortedTable<RowNumber> rows = rows_with_equal_checksums();
    if (rows.count() == 0) return {};
    SortedTable<ContentOfRow> contents = contents_of(rows);
    SortedTable<RepeatedRow> found = repeated(contents);
    return listed(found);
  }

 private:
  template <class Row>
  [[nodiscard]] SortedTable<Row> new_table() const {
    return {search_.folder, search_.memory_bytes / 2};
  }

  SortedTable<RowNumber> rows_with_equal_checksums() {
    auto checksums = new_table<ChecksumOfRow>();
    for_each_shard_of(manifest_, search_, [&](const ShardReader& shard, std::uint64_t first_row) {
      const std::uint64_t position = shard.columns().position_of(field_);
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
    for_each_shard_of(manifest_, search_, [&](const ShardReader& shard, std::uint64_t first_row) {
      if (rows.row() == nullptr || rows.row()->row >= first_row + shard.shard().digest.samples)
        return;
      IndexReader index = shard.open_index();
      for (; rows.row() != nullptr && rows.row()->row < first_row + index.rows(); rows.step()) {
        const std::uint64_t number = rows.row()->row;
        const IndexRow row = index.row(number - first_row);
        const std::int64_t label = label_ ? row.cells[*label_].integer : 0;
        const std::optional<WrittenImages::Image> noted = noted_of(row, number);
        contents.add({noted ? noted->hash : hash_of(shard, row.cells[field_].place), number,
                      static_cast<std::uint64_t>(label),
                      noted ? noted->key : key_of(shard, row, number)});
      }
    });
    contents.finish();
    return contents;
  }

  SortedTable<RepeatedRow> repeated(SortedTable<ContentOfRow>& contents) const {
    auto found = new_table<RepeatedRow>();
    std::optional<ContentOfRow> first;
    while (std::optional<ContentOfRow> next = contents.next()) {
      if (!first || next->hash != first->hash) {
        first = std::move(next);
      } else if (next->row >= search_.first_row) {
        found.add({next->row, next->label, first->label, next->key.size(), next->key + first->key});
      }
    }
    found.finish();
    return found;
  }

  FoundDuplicates listed(SortedTable<RepeatedRow>& found) const {
    FoundDuplicates duplicates;
    CsvList list(search_.folder, search_.list_name, {"key", "label", "first", "first_label"});
    while (const std::optional<RepeatedRow> row = found.next()) {
      ++duplicates.counts.samples;
      if (row->label != row->first_label) ++duplicates.counts.relabelled;
      list.add({row->keys.substr(0, row->key_bytes), label_text(row->label),
                row->keys.substr(row->key_bytes), label_text(row->first_label)});
    }
    duplicates.list = list.finish();
    return duplicates;
  }

  // What the run knows of a row, with the key as it is listed. The index has to agree.
  [[nodiscard]] std::optional<WrittenImages::Image> noted_of(const IndexRow& row,
                                                             std::uint64_t number) const {
    WrittenImages* const written = search_.written;
    if (written == nullptr || written->field() != field_ || number < search_.written_from)
      return std::nullopt;
    std::optional<WrittenImages::Image> image = written->image_of(number - search_.written_from);
    if (!image) return std::nullopt;
    if (lists_number_of(row)) {
      image->key = std::to_string(number);
    } else if (image->key.size() != row.key.length ||
               crc32c(as_bytes(image->key)) != row.key.crc32c) {
      return std::nullopt;
    }
    return image;
  }

  Hash128 hash_of(const ShardReader& shard, const FieldPlace& place) {
    const InputFile& file = shard.file_of_field(field_);
    Hasher128 hasher = begin_image_hash(manifest_.schema, field_, place.length);
    for (std::uint64_t done = 0; done < place.length; done += piece_.size()) {
      events_.stop_if_asked();
      piece_.resize(std::min(kDuplicateReadBytes, place.length - done));
      file.read_exact(place.offset + done, piece_);
      hasher.update(piece_);
    }
    return hasher.digest();
  }

  [[nodiscard]] bool lists_number_of(const IndexRow& row) const {
    return !manifest_.layout.has_keys || row.key.length > kLongestListedKey;
  }

  [[nodiscard]] std::string key_of(const ShardReader& shard, const IndexRow& row,
                                   std::uint64_t number) const {
    if (lists_number_of(row)) return std::to_string(number);
    const InputFile& file = shard.file_of_key();
    std::string key(row.key.length, '\0');
    file.read_exact(row.key.offset, std::as_writable_bytes(std::span(key)));
    prove_value(as_bytes(key), row.key, file);
    return key;
  }

  // The class, or the label itself; nothing where samples have none.
  [[nodiscard]] std::string label_text(std::uint64_t label) const {
    if (!label_) return {};
    if (label < manifest_.classes.size()) return manifest_.classes[label];
    return std::to_string(static_cast<std::int64_t>(label));
  }

  const Manifest& manifest_;
  const DuplicateSearch& search_;
  const Events& events_;
  const std::size_t field_;
  std::optional<std::size_t> label_;
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
  return DuplicateFinder(manifest, search, events).find();
}

void report_duplicates(Manifest& manifest, const DuplicateSearch& search, const Events& events) {
  if (!field_of_duplicates(manifest)) return;
  FoundDuplicates found = find_duplicates(manifest, search, events);
  manifest.images->duplicates = found.counts;
  if (found.list) manifest.files.push_back(std::move(*found.list));
}

}  // namespace shale
