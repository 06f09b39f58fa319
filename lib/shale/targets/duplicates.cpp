#include "shale/targets/duplicates.hpp"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/encoding/encode_batch.hpp"
#include "shale/io/external_sorter.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/shards/dataset_reader.hpp"

// In passes, each in the order of the disk: the checksums of all rows, sorted; of those that are
// there more than once the hashes of the values, sorted; of those the rows, sorted. Hashes and keys
// are what the run has noted as it wrote them (written_images.hpp): shards are not in the page
// cache then. What it has not is read. Entries of the sorters are numbers of 8 bytes, big-endian,
// then bytes.

namespace shale {
namespace {

constexpr std::uint64_t kDuplicateReadBytes = 1 << 20, kPlacesBetweenStops = 4096;
// A longer key is listed as the number of its sample: an entry may hold two.
constexpr std::uint64_t kLongestListedKey = WrittenImages::kLongestKey;
constexpr std::size_t kNumberSize = sizeof(std::uint64_t);

std::string entry_of_numbers(std::initializer_list<std::uint64_t> numbers) {
  std::string entry;
  for (const std::uint64_t number : numbers) append_big_endian(entry, number);
  return entry;
}

std::uint64_t number_of(std::string_view entry, std::size_t which) {
  return read_big_endian(entry.substr(which * kNumberSize, kNumberSize));
}

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
    ExternalSorter rows = rows_with_equal_checksums();
    if (rows.count() == 0) return {};
    ExternalSorter contents = contents_of(rows);
    ExternalSorter found = repeated(contents);
    return listed(found);
  }

 private:
  [[nodiscard]] ExternalSorter new_sorter() const {
    return {search_.folder, search_.memory_bytes / 2};
  }

  ExternalSorter rows_with_equal_checksums() {
    ExternalSorter checksums = new_sorter();
    for_each_shard_of(manifest_, search_, [&](const ShardReader& shard, std::uint64_t first_row) {
      const std::uint64_t position = shard.columns().position_of(field_);
      IndexReader index = shard.open_index();
      for (std::uint64_t row = 0; row < index.rows(); ++row) {
        if (row % kPlacesBetweenStops == 0) events_.stop_if_asked();
        const FieldPlace place = index.place(row, position);
        if (place.offset == kMissing || place.length == 0) continue;
        checksums.add(entry_of_numbers(
            {place.length, (std::uint64_t{place.count} << 32) | place.crc32c, first_row + row}));
      }
    });
    checksums.finish();
    ExternalSorter rows = new_sorter();
    std::string previous;
    bool is_added = false;
    while (const auto entry = checksums.next()) {
      constexpr std::size_t kFacts = 2 * kNumberSize;
      if (previous.empty() || entry->substr(0, kFacts) != previous.substr(0, kFacts)) {
        is_added = false;
      } else {
        if (!is_added) rows.add(previous.substr(kFacts));
        rows.add(entry->substr(kFacts));
        is_added = true;
      }
      previous = *entry;
    }
    rows.finish();
    return rows;
  }

  // Of these rows, which ascend: hash of the value, row, label, key.
  ExternalSorter contents_of(ExternalSorter& rows) {
    ExternalSorter contents = new_sorter();
    std::optional<std::string_view> next = rows.next();
    for_each_shard_of(manifest_, search_, [&](const ShardReader& shard, std::uint64_t first_row) {
      if (!next || number_of(*next, 0) >= first_row + shard.shard().digest.samples) return;
      IndexReader index = shard.open_index();
      for (; next && number_of(*next, 0) < first_row + index.rows(); next = rows.next()) {
        const std::uint64_t number = number_of(*next, 0);
        const IndexRow row = index.row(number - first_row);
        const std::int64_t label = label_ ? row.cells[*label_].integer : 0;
        const std::optional<WrittenImages::Image> noted = noted_of(row, number);
        const Hash128 hash = noted ? noted->hash : hash_of(shard, row.cells[field_].place);
        contents.add(hash.hex() + entry_of_numbers({number, static_cast<std::uint64_t>(label)}) +
                     (noted ? noted->key : key_of(shard, row, number)));
      }
    });
    contents.finish();
    return contents;
  }

  // Row, label, label of the first one, bytes of the key, key, key of the first one.
  ExternalSorter repeated(ExternalSorter& contents) const {
    ExternalSorter found = new_sorter();
    std::string first;
    while (const auto entry = contents.next()) {
      constexpr std::size_t kHash = 2 * sizeof(Hash128), kFacts = kHash + 2 * kNumberSize;
      if (first.empty() || entry->substr(0, kHash) != first.substr(0, kHash)) {
        first = *entry;
        continue;
      }
      const std::string_view facts = entry->substr(kHash), key = entry->substr(kFacts);
      const std::string_view first_facts = std::string_view(first).substr(kHash);
      if (number_of(facts, 0) < search_.first_row) continue;
      std::string row = entry_of_numbers(
          {number_of(facts, 0), number_of(facts, 1), number_of(first_facts, 1), key.size()});
      found.add(row.append(key).append(first_facts.substr(2 * kNumberSize)));
    }
    found.finish();
    return found;
  }

  FoundDuplicates listed(ExternalSorter& found) const {
    FoundDuplicates duplicates;
    CsvList list(search_.folder, search_.list_name, {"key", "label", "first", "first_label"});
    while (const auto entry = found.next()) {
      const std::string_view keys = entry->substr(4 * kNumberSize);
      const std::uint64_t label = number_of(*entry, 1), first_label = number_of(*entry, 2),
                          key_bytes = number_of(*entry, 3);
      ++duplicates.counts.samples;
      if (label != first_label) ++duplicates.counts.relabelled;
      list.add({std::string(keys.substr(0, key_bytes)), label_text(label),
                std::string(keys.substr(key_bytes)), label_text(first_label)});
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
