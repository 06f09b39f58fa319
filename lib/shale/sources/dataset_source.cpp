#include "shale/sources/dataset_source.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/nearest_word.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/folders/file_pairs.hpp"
#include "shale/folders/metadata_rows.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/io/sorted_table.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/key_check.hpp"
#include "shale/shards/open_shards.hpp"

namespace shale {
namespace {

class DatasetSource final : public OrderableSource {
 public:
  DatasetSource(OpenedDataset dataset, const DatasetSelection& selection)
      : dataset_(std::move(dataset)),
        stop_if_asked_(selection.stop_if_asked),
        names_fields_(!selection.fields.empty()) {
    for (std::uint64_t number = 0; number < dataset_.shards.size(); ++number) {
      first_row_.push_back(rows_);
      rows_ += dataset_.shards.samples(number);
    }
    samples_ = rows_;
    select(selection.fields);
    describe_manifest(selection);
    describe_samples();
    prove_other_files(dataset_.paths, manifest_);
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    if (position_ == samples_) return std::nullopt;
    const std::uint64_t place = order_ ? order_->at(position_) : position_;
    const std::uint64_t row = chosen_ ? chosen_->at(place) : place;
    const std::uint64_t number = shard_of(row);
    ShardCursor& shard = open_.at(number);
    const std::uint64_t shard_row = row - first_row_[number];
    if (info_.row_bytes) {
      const std::uint64_t left = dataset_.shards.samples(number) - shard_row;
      return run(shard, shard_row, std::min(most_rows, left), row);
    }
    ++position_;
    return pending(shard, shard.index->row(shard_row), row);
  }

  void skip(std::uint64_t samples) override {
    if (samples > samples_ - position_) return Source::skip(samples);
    position_ += samples;
  }

  // Where there is no digest to prove the samples by, the files of their shards prove them.
  void narrow(std::uint64_t first, std::uint64_t) override {
    position_ = first;
    info_.digest.reset();
  }

  void put_in_order(const SampleOrder& order) override {
    position_ = 0;
    chosen_ = order.chosen;
    if (chosen_) {
      samples_ = chosen_->count();
      info_.chosen = chosen_->hash();
      info_.manifest.samples = samples_;
      info_.manifest.bytes = bytes_of_chosen();
      info_.manifest.fingerprint = chosen_->fingerprint_of(info_.manifest.fingerprint);
      info_.digest.reset();
    }
    if (!order.seed || samples_ == 0) return;
    order_.emplace(samples_, *order.seed);
    if (info_.digest) info_.digest->ordered = {};
  }

  void list_ignored(const ReasonSink& sink) override {
    read_list(kIgnoredName, [&](const std::vector<std::string>& fields) {
      if (fields.size() == 2) sink(fields[0], fields[1]);
    });
  }

  void list_skipped(const SkippedSink& sink) override {
    read_list(kSkippedName, [&](const std::vector<std::string>& fields) {
      if (fields.size() != 3) {
        throw Error(Code::unsupported, "{} has {} columns: it was written before 0.2.0",
                    kSkippedName, fields.size())
            .at(dataset_.paths.lists)
            .hint("convert the dataset's source again");
      }
      sink({fields[0], fields[1], fields[2]});
    });
  }

 private:
  [[nodiscard]] std::uint64_t shard_of(std::uint64_t row) const {
    const auto after = std::upper_bound(first_row_.begin(), first_row_.end(), row);
    return static_cast<std::uint64_t>(after - first_row_.begin()) - 1;
  }

  // What the chosen samples have in bytes: their fields, as their indexes say.
  [[nodiscard]] std::uint64_t bytes_of_chosen() {
    std::uint64_t bytes = 0;
    for (std::uint64_t i = 0; i < samples_; ++i) {
      stop_if_asked_();
      const std::uint64_t row = chosen_->at(i), number = shard_of(row);
      const IndexRow places = open_.at(number).index->row(row - first_row_[number]);
      for (const std::size_t field : fields_) {
        const bool is_there = is_located(manifest_.schema.fields[field].kind) &&
                              places.cells[field].place.offset != kMissing;
        if (is_there) bytes += places.cells[field].place.length;
      }
    }
    return bytes;
  }

  void read_list(std::string_view name,
                 const std::function<void(const std::vector<std::string>&)>& sink) const {
    const auto take = [&](std::uint64_t row, const std::vector<std::string>& fields) {
      if (row > 1) sink(fields);
    };
    for (const ManifestFile& file : manifest_.files) {
      if (is_list_name(file.name, name)) read_csv(join_path(dataset_.paths.lists, file.name), take);
    }
  }

  void select(const std::vector<std::string>& names) {
    const std::vector<Field>& all = manifest_.schema.fields;
    if (names.empty()) {
      for (std::size_t i = 0; i < all.size(); ++i) fields_.push_back(i);
    }
    for (const std::string& name : names) {
      const std::optional<std::size_t> field = manifest_.schema.find(name);
      const bool is_twice =
          field && std::find(fields_.begin(), fields_.end(), *field) != fields_.end();
      if (!field || is_twice) {
        std::string there;
        std::vector<std::string> words;
        for (const Field& one : all) {
          there += (there.empty() ? "" : ", ") + printable(one.name);
          words.push_back(one.name);
        }
        throw Error(Code::usage, "--fields names '{}', which is {}", printable(name),
                    is_twice ? "named twice" : "not a field of the dataset")
            .hint(did_you_mean(name, words))
            .hint("its fields are " + there);
      }
      fields_.push_back(*field);
    }
    for (const std::size_t field : fields_) info_.schema.fields.push_back(all[field]);
    // A file without keys says so in its index only: whether it has one changes nothing.
    info_.schema.has_keys = manifest_.layout.has_keys && manifest_.schema.has_keys;
  }

  void describe_manifest(const DatasetSelection& selection) {
    const bool is_set = !manifest_.layout.is_of_one_file();
    if (is_set) {
      const Hash128 all =
          manifest_.layout.has_keys ? manifest_.digest.keys : manifest_.digest.ordered;
      const ManifestSource& source = manifest_.source;
      info_.manifest = {.kind = std::string(kDatasetKind),
                        .samples = rows_,
                        .bytes = manifest_.payload_bytes,
                        .fingerprint = all,
                        .origin = source.kind == kDatasetKind ? source.origin : source.kind};
    } else {
      info_.manifest = manifest_.source;
      info_.manifest.file.reset();
      info_.notes = dataset_.notes;
    }
    if (!selection.fields.empty()) {
      std::string facts = info_.manifest.fingerprint.hex();
      for (const std::string& field : selection.fields) facts += "\n" + field;
      info_.manifest.fingerprint = xxh3_128(as_bytes(facts));
    }
    if (selection.fields.empty() && manifest_.layout.has_checksums) info_.digest = manifest_.digest;
    // Of a set since it was written; those of one file were compared when it was opened.
    info_.keys_are_unique = true;
  }

  void describe_samples() {
    info_.ignored = manifest_.ignored;
    info_.skipped = manifest_.skipped;
    // Whoever names the fields has decided what to leave out.
    if (!names_fields_) info_.left_out = manifest_.left_out;
    for (const auto& [option, value] : manifest_.options) {
      if (option == "hidden") info_.hidden = value;
      if (option == kSuffixesOption) info_.suffixes = value;
      if (option == kPairsOption) info_.pairs = value;
      if (option == kMetadataOption) info_.metadata = value;
      if (option == kFoldersOption) info_.folders = value;
    }
    info_.classes = manifest_.classes;
    const std::vector<std::size_t> images = image_fields_of(manifest_);
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      if (std::ranges::find(images, fields_[i]) != images.end()) info_.image_fields.push_back(i);
    }
    info_.container = &format_of(manifest_);
    if (!manifest_.layout.rows.takes_runs()) return;
    info_.row_bytes = 0;
    for (const Field& field : info_.schema.fields)
      *info_.row_bytes += fixed_bytes_of(field).value();
  }

  PendingSample run(ShardCursor& shard, std::uint64_t shard_row, std::uint64_t rows,
                    std::uint64_t number) {
    PendingSample run;
    run.rows = rows;
    run.first_number = number;
    run.keeps_open = shard.reader;
    for (const std::size_t field : fields_) {
      const FixedColumn column = shard.reader->fixed_column(field);
      FieldPlace place = column.place(shard_row);
      place.length *= rows;
      run.cells.push_back({.place = place});
      run.descriptors.push_back(column.file->descriptor());
      run.bytes += place.length;
    }
    position_ += rows;
    return run;
  }

  PendingSample pending(ShardCursor& shard, IndexRow row, std::uint64_t number) {
    PendingSample sample;
    sample.has_crc32c = manifest_.layout.has_checksums;
    sample.keeps_open = shard.reader;
    sample.key = row.key.offset == kMissing ? std::to_string(number) : key_of(shard, row.key);
    for (const std::size_t i : fields_) {
      const InputFile& file = shard.reader->file_of_field(i);
      sample.descriptors.push_back(file.descriptor());
      const FieldPlace place = row.cells[i].place;
      const Field& field = manifest_.schema.fields[i];
      sample.cells.push_back(row.cells[i]);
      if (!is_located(field.kind)) continue;
      if (field.kind == Kind::list) {
        const std::vector<FieldPlace> elements = shard.reader->elements_of(place);
        sample.elements.insert(sample.elements.end(), elements.begin(), elements.end());
      }
      if (place.offset == kMissing) {
        throw Error(
            Code::schema,
            "field '{}' is absent in this sample, but a dataset has all fields in all samples",
            printable(field.name))
            .for_sample(sample.key, number);
      }
      if (place.length > file.size() || place.offset > file.size() - place.length) {
        throw Error(Code::damaged, "field '{}' lies outside the file's {} bytes", field.name,
                    file.size())
            .at(file.path(), place.offset)
            .for_sample(sample.key, number);
      }
      sample.bytes += place.length;
    }
    return sample;
  }

  [[nodiscard]] std::string key_of(ShardCursor& shard, const FieldPlace& place) const {
    const Bytes key = shard.keys->view(place.offset, place.length);
    if (shard.reader->has_checksums()) prove_value(key, place, shard.reader->file_of_key());
    return std::string(as_text(key));
  }

  void prove(const ShardReader& shard) const {
    shard.prove_index([this](auto) { stop_if_asked_(); });
    prove_block_list(dataset_.paths, shard.shard());
    const bool lacks_proof = info_.row_bytes && !info_.digest;
    if (lacks_proof) prove_files_of(shard, manifest_.layout, fields_, stop_if_asked_);
  }

  OpenedDataset dataset_;
  std::function<void()> stop_if_asked_;
  const bool names_fields_;
  const Manifest& manifest_ = dataset_.manifest;
  std::vector<std::uint64_t> first_row_;
  std::vector<std::size_t> fields_;                      // of the manifest's schema
  std::uint64_t rows_ = 0, samples_ = 0, position_ = 0;  // of the dataset; of these the chosen
  std::shared_ptr<ChosenRows> chosen_;
  std::optional<Permutation> order_;
  SourceInfo info_;
  OpenShards open_{dataset_.paths, manifest_, dataset_.shards,
                   [this](const ShardReader& shard) { prove(shard); }};
};

constexpr std::uint64_t kRowsThatShowOrder = 128;
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

void prove_files_of(const ShardReader& shard, const ShardLayout& layout,
                    std::span<const std::size_t> fields,
                    const std::function<void()>& stop_if_asked) {
  std::set<std::uint32_t> files;
  for (const std::size_t field : fields) files.insert(layout.part_file[layout.field_part[field]]);
  for (const std::uint32_t file : files)
    prove_file(shard.files()[file], shard.shard().files[file], [&](auto) { stop_if_asked(); });
}

std::unique_ptr<OrderableSource> make_dataset_source(OpenedDataset dataset,
                                                     const DatasetSelection& selection) {
  return std::make_unique<DatasetSource>(std::move(dataset), selection);
}

// The order shows soon: 0, 1, 10, 11 ... 2.
std::string note_on_order(const OpenedDataset& dataset) {
  if (dataset.shards.size() == 0) return {};
  const ShardReader shard(dataset.paths, dataset.manifest, dataset.shards[0]);
  IndexReader index = shard.open_index();
  std::optional<std::uint64_t> previous;
  bool descends = false;
  for (std::uint64_t row = 0; row < std::min(index.rows(), kRowsThatShowOrder); ++row) {
    const std::optional<std::uint64_t> number = plain_number(key_at(shard, index, row));
    if (!number) return {};
    descends = descends || (previous && *number < *previous);
    previous = number;
  }
  if (!descends) return {};
  return "the keys are decimal numbers, but the samples are not in their order (10 may come before "
         "2); rows sorted by key, as indices= of shale.Dataset, are";
}

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
    hashes.for_each_repeated(&HashOfRow::hash, [&](const HashOfRow& one, const HashOfRow& other) {
      stop_if_asked();
      const std::string key = key_at(shard, index, other.row);
      if (key == key_at(shard, index, one.row)) throw key_is_not_unique(key);
    });
  }
}

}  // namespace shale
