#include "shale/sources/dataset_source.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/datasets/foreign_file.hpp"
#include "shale/datasets/index_change.hpp"
#include "shale/datasets/lost_samples.hpp"
#include "shale/encoding/sample_loader.hpp"
#include "shale/flow/permutation.hpp"
#include "shale/folders/metadata_rows.hpp"
#include "shale/folders/sought_files.hpp"
#include "shale/io/file_stamp.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/partners/file_pairs.hpp"
#include "shale/shards/damaged_blocks.hpp"
#include "shale/shards/dataset_reader.hpp"
#include "shale/shards/key_check.hpp"
#include "shale/shards/open_shards.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/rebuild_hint.hpp"
#include "shale/sources/input_request.hpp"
#include "shale/sources/settled_keys.hpp"

namespace shale {
namespace {

class DatasetSource final : public OrderableSource {
 public:
  DatasetSource(OpenedDataset dataset, const DatasetSelection& selection)
      : dataset_(std::move(dataset)),
        stop_if_asked_(selection.stop_if_asked),
        on_damage_(selection.on_damage) {
    for (std::uint64_t number = 0; number < dataset_.shards.size(); ++number) {
      first_row_.push_back(rows_);
      rows_ += dataset_.shards.samples(number);
    }
    samples_ = rows_ + among_lost_.count();
    select(selection.fields);
    describe_manifest();
    describe_samples(selection.fields);
    leaves_out_damage() ? describe_damage() : prove_lists();
    info_.manifest.samples += among_lost_.count();
    if (std::string note = among_lost_.note(); !note.empty())
      info_.notes.push_back(std::move(note));
  }

  [[nodiscard]] const SourceInfo& info() const override { return info_; }

  [[nodiscard]] std::optional<PendingSample> next(std::uint64_t most_rows) override {
    if (position_ == samples_) return std::nullopt;
    const std::uint64_t place = order_ ? order_->at(position_) : position_;
    const AmongLost::Place at = among_lost_.at(chosen_ ? chosen_->at(place) : place);
    if (at.lost != nullptr) {
      ++position_;
      return lost_sample(*at.lost, at.number, info_.schema);
    }
    const std::uint64_t number = shard_of(at.row);
    const std::uint64_t shard_row = at.row - first_row_[number];
    const bool is_run = info_.row_bytes && !order_ && !chosen_;
    const std::uint64_t left =
        std::min(dataset_.shards.samples(number) - shard_row, at.rows_to_lost);
    PendingSample sample =
        read(number, shard_row, is_run ? std::min(most_rows, left) : 1, at.number);
    position_ += sample.rows;
    return sample;
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
    read_list(kIgnoredName, [&](CsvRow fields) {
      if (fields.size() == 2) sink(fields[0], fields[1]);
    });
  }

  void list_skipped(const SkippedSink& sink) override {
    read_list(kSkippedName, [&](CsvRow fields) {
      if (fields.size() != 3) {
        throw Error(Code::unsupported, "{} has {} columns: it was written before 0.2.0",
                    kSkippedName, fields.size())
            .at(dataset_.paths.lists)
            .hint("convert the dataset's source again");
      }
      sink({std::string(fields[0]), std::string(fields[1]), std::string(fields[2])});
    });
  }

 private:
  [[nodiscard]] bool leaves_out_damage() const { return on_damage_ == OnDamage::leave_out; }

  void prove_lists() try {
    prove_other_files(dataset_.paths, manifest_);
  } catch (const Error& error) {
    refuse_replacement();
    throw with_way_out(error, on_damage_);
  }

  // Once for many damages.
  void refuse_replacement() {
    const std::optional<FileStamp> now = stamp_of(dataset_.paths.manifest);
    if (now && now == unreplaced_) return;
    refuse_replaced(dataset_);
    unreplaced_ = now;
  }

  // What can be said before anything is read of the samples.
  void describe_damage() {
    const auto lose = [this](std::string_view list, std::uint64_t& entries) {
      for (const ManifestFile& file : manifest_.files) {
        if (!is_list_name(file.name, list) || lost_lists_.contains(list)) continue;
        try {
          prove_list(dataset_.paths, file);
        } catch (const Error& error) {
          if (error.code() != Code::damaged) throw;
          refuse_replacement();
          info_.notes.push_back(fmt::format("what {} of the input lists is not taken over: {}",
                                            list, damage_text(error)));
          lost_lists_.emplace(list);
          entries = 0;
        }
      }
    };
    lose(kSkippedName, info_.skipped);
    lose(kIgnoredName, info_.ignored);
    std::uint64_t cut = 0;
    for (const ManifestShard& shard : dataset_.shards) {
      stop_if_asked_();
      cut += std::ranges::all_of(shard.files,
                                 [&](const ManifestFile& file) {
                                   std::error_code error;
                                   return std::filesystem::file_size(
                                              join_path(dataset_.paths.shards, file.name), error) >=
                                              file.bytes &&
                                          !error;
                                 })
                 ? 0
                 : 1;
    }
    if (cut == 0) return;
    info_.notes.push_back(fmt::format(
        "files of {} of {} of the input are missing or truncated: samples that lie there are left "
        "out",
        cut, format_counted(dataset_.shards.size(), "shard", "shards")));
  }

  // Null: it cannot be read at all, and lost_ says why.
  ShardCursor* open_shard(std::uint64_t number) {
    if (lost_.contains(number)) return nullptr;
    try {
      return &open_.at(number);
    } catch (const Error& error) {
      if (error.code() != Code::damaged) throw;
      refuse_replacement();
      if (can_be_made_again(error, number))
        throw Error(error.code(), "{}", error.message())
            .at(error.file(), error.offset())
            .because(error.cause())
            .hint(rebuild_hint(
                dataset_.paths.lists,
                join_path(dataset_.paths.shards, dataset_.shards[number].files.front().name)));
      if (!leaves_out_damage()) throw with_way_out(error, on_damage_);
      lost_.emplace(number, damage_text(error));
      return nullptr;
    }
  }

  // What says where samples lie, if the samples are whole.
  [[nodiscard]] bool can_be_made_again(const Error& error, std::uint64_t number) const {
    const auto is_at_end = [&](std::string_view suffix) { return error.file().ends_with(suffix); };
    if (on_damage_ == OnDamage::stop || std::ranges::none_of(kListSuffixes, is_at_end))
      return false;
    if (!leaves_out_damage()) return true;
    try {
      for (const ManifestFile& file : dataset_.shards[number].files) {
        stop_if_asked_();
        const InputFile data(join_path(dataset_.paths.shards, file.name));
        if (data.size() != file.bytes) return false;
        prove_file(data, file, [this](auto) { stop_if_asked_(); });
      }
      return true;
    } catch (const Error& damage) {
      if (damage.code() != Code::damaged && damage.code() != Code::not_found) throw;
      return false;
    }
  }

  // `row`: the number of the sample, lost ones counted.
  PendingSample read(std::uint64_t number, std::uint64_t shard_row, std::uint64_t rows,
                     std::uint64_t row) {
    ShardCursor* const shard = open_shard(number);
    if (shard == nullptr) return damaged(number, row, lost_.at(number));
    try {
      return info_.row_bytes ? run(*shard, shard_row, rows, row) : pending(*shard, shard_row, row);
    } catch (const Error& error) {
      if (error.code() != Code::damaged) throw;
      refuse_replacement();
      if (!leaves_out_damage()) throw with_way_out(error, on_damage_);
      return damaged(number, row, damage_text(error));
    }
  }

  // Its key is not known, or not to be believed.
  [[nodiscard]] PendingSample damaged(std::uint64_t shard, std::uint64_t row,
                                      std::string damage) const {
    PendingSample sample;
    sample.key = info_.row_bytes ? std::to_string(row)
                                 : fmt::format("{} row {}", dataset_.shards[shard].name,
                                               row - first_row_[shard]);
    sample.first_number = row;
    sample.cells.resize(fields_.size());
    sample.damage = std::move(damage);
    return sample;
  }

  [[nodiscard]] std::uint64_t shard_of(std::uint64_t row) const {
    const auto after = std::upper_bound(first_row_.begin(), first_row_.end(), row);
    return static_cast<std::uint64_t>(after - first_row_.begin()) - 1;
  }

  // What the chosen samples have in bytes: their fields, as their indexes say.
  [[nodiscard]] std::uint64_t bytes_of_chosen() {
    if (info_.row_bytes) return samples_ * *info_.row_bytes;
    std::uint64_t bytes = 0;
    for (std::uint64_t i = 0; i < samples_; ++i) {
      stop_if_asked_();
      const AmongLost::Place at = among_lost_.at(chosen_->at(i));
      if (at.lost != nullptr) continue;
      const std::uint64_t row = at.row, number = shard_of(row);
      ShardCursor* const shard = open_shard(number);
      if (shard == nullptr) continue;
      const IndexRow places = shard->index->row(row - first_row_[number]);
      for (const std::size_t field : fields_) {
        const bool is_there = is_located(manifest_.schema.fields[field].kind) &&
                              places.cells[field].place.offset != kMissing;
        if (is_there) bytes += places.cells[field].place.length;
      }
    }
    return bytes;
  }

  void read_list(std::string_view name, const std::function<void(CsvRow fields)>& sink) const {
    const auto take = [&](std::uint64_t row, CsvRow fields) {
      if (row > 1) sink(fields);
    };
    if (lost_lists_.contains(name)) return;
    for (const ManifestFile& file : manifest_.files) {
      if (is_list_name(file.name, name)) read_csv(join_path(dataset_.paths.lists, file.name), take);
    }
  }

  void select(const FieldChoice& choice) {
    const std::vector<Field>& all = manifest_.schema.fields;
    fields_ = taken_fields(choice, manifest_.schema, manifest_.left_out);
    for (const std::size_t field : fields_) info_.schema.fields.push_back(all[field]);
    info_.leaves_bytes = fields_.size() < all.size();
    // A file without keys says so in its index only: whether it has one changes nothing.
    info_.schema.has_keys = manifest_.layout.has_keys && manifest_.schema.has_keys;
  }

  void describe_manifest() {
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
    const bool takes_all = info_.schema.fields == manifest_.schema.fields;
    if (!takes_all) {
      std::string facts = info_.manifest.fingerprint.hex();
      for (const Field& field : info_.schema.fields) facts += "\n" + field.name;
      info_.manifest.fingerprint = xxh3_128(as_bytes(facts));
    }
    if (takes_all && manifest_.layout.has_checksums) info_.digest = manifest_.digest;
    const bool has_other_keys = !dataset_.key_prefixes.empty() || dataset_.has_repeated_keys;
    if (info_.digest && has_other_keys) info_.digest->keys = {};
    info_.on_damage = on_damage_;
    // Of a set since it was written; those of one file were compared when it was opened.
    info_.keys_are_unique = true;
  }

  void describe_samples(const FieldChoice& choice) {
    info_.ignored = manifest_.ignored;
    info_.skipped = manifest_.skipped;
    info_.left_out = without_dropped(choice, manifest_.left_out);
    for (const auto& [option, value] : manifest_.options) {
      if (option == "hidden") info_.hidden = value;
      if (option == kSuffixesOption) info_.suffixes = value;
      if (option == kPairsOption) info_.pairs = value;
      if (option == kMetadataOption) info_.metadata = value;
      if (option == kFoldersOption) info_.folders = value;
      if (option == kFieldsOption) info_.fields = taken_names(value);
      if (option == kParseOption || option == kDatabaseOption)
        info_.parsing.emplace_back(option, value);
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

  // Of those that the dataset has, the ones that are taken.
  [[nodiscard]] std::string taken_names(const std::string& option) const {
    std::vector<FieldName> taken;
    const std::vector<FieldName> all = field_names_of(option);
    for (const Field& field : info_.schema.fields) {
      const auto name = std::ranges::find(all, field.name, &FieldName::name);
      taken.push_back(name == all.end() ? FieldName{field.name, field.name} : *name);
    }
    return field_names_text(taken);
  }

  PendingSample run(ShardCursor& shard, std::uint64_t shard_row, std::uint64_t rows,
                    std::uint64_t number) {
    if (const auto blocks = damaged_blocks_.find(shard.reader->shard().name);
        blocks != damaged_blocks_.end()) {
      rows = blocks->second.whole_rows(*shard.reader, fields_, shard_row, rows);
      if (rows == 0)
        return damaged(shard.number, number,
                       blocks->second.text(*shard.reader, fields_, shard_row));
    }
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
    return run;
  }

  PendingSample pending(ShardCursor& shard, std::uint64_t shard_row, std::uint64_t number) {
    const IndexRow row = shard.index->row(shard_row);
    PendingSample sample;
    sample.has_crc32c = manifest_.layout.has_checksums;
    sample.keeps_open = shard.reader;
    sample.key = row.key.offset == kMissing ? std::to_string(number) : key_of(shard, row.key);
    if (!dataset_.key_prefixes.empty()) sample.key.insert(0, dataset_.key_prefixes[shard.number]);
    if (dataset_.has_repeated_keys) sample.key += repeated_.behind_key(shard, shard_row);
    take_sides(shard, row, sample);
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
      if (place.offset == kMissing && field.is_optional) continue;
      if (place.offset == kMissing) {
        const bool is_damage = !shard.reader->may_lack_values();
        throw Error(is_damage ? Code::damaged : Code::schema,
                    "field '{}' is absent in this sample, and not optional", printable(field.name))
            .at(is_damage ? shard.reader->index_path() : file.path())
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

  // Of the chosen fields, in their order. They must be those of the schema, and of the bytes.
  void take_sides(const ShardCursor& shard, const IndexRow& row, PendingSample& sample) const {
    if (row.sides.empty()) return;
    ShapeWalk walk(row.sides);
    std::vector<std::span<const std::uint64_t>> shapes;
    shapes.reserve(manifest_.schema.fields.size());
    for (const Field& field : manifest_.schema.fields) shapes.push_back(walk.next(field));
    for (const std::size_t i : fields_) {
      const Field& field = manifest_.schema.fields[i];
      const FieldPlace& place = row.cells[i].place;
      if (!field.is_ragged()) continue;
      if (place.offset != kMissing && !field.takes_tensor(shapes[i], place.length)) {
        throw wrong_shape(field, shapes[i], place.length)
            .at(shard.reader->index_path())
            .for_sample(sample.key);
      }
      sample.sides.insert(sample.sides.end(), shapes[i].begin(), shapes[i].end());
    }
  }

  [[nodiscard]] std::string key_of(ShardCursor& shard, const FieldPlace& place) const {
    const Bytes key = shard.keys->view(place.offset, place.length);
    if (shard.reader->has_checksums()) prove_value(key, place, shard.reader->file_of_key());
    return std::string(as_text(key));
  }

  void prove(const ShardReader& shard) {
    shard.prove_index([this](auto) { stop_if_asked_(); });
    if (leaves_out_damage()) return find_damage(shard);
    prove_block_list(dataset_.paths, shard.shard());
    const bool lacks_proof = info_.row_bytes && !info_.digest;
    if (lacks_proof) prove_files_of(shard, manifest_.layout, fields_, stop_if_asked_);
  }

  // Values that are located by an index have checksums there.
  void find_damage(const ShardReader& shard) {
    if (!info_.row_bytes) return;
    DamagedBlocks blocks(dataset_.paths, shard, manifest_.layout, fields_, stop_if_asked_);
    if (!blocks.are_none()) damaged_blocks_.emplace(shard.shard().name, std::move(blocks));
  }

  OpenedDataset dataset_;
  std::function<void()> stop_if_asked_;
  const OnDamage on_damage_;
  std::map<std::uint64_t, std::string> lost_;            // shards that cannot be read, and why
  std::map<std::string, DamagedBlocks> damaged_blocks_;  // by shard, of fixed rows
  std::set<std::string, std::less<>> lost_lists_;
  std::optional<FileStamp> unreplaced_;  // its manifest, when it was last looked at
  const Manifest& manifest_ = dataset_.manifest;
  const AmongLost among_lost_{dataset_.lost};
  std::vector<std::uint64_t> first_row_;
  std::vector<std::size_t> fields_;                      // of the manifest's schema
  std::uint64_t rows_ = 0, samples_ = 0, position_ = 0;  // of the dataset; of these the chosen
  std::shared_ptr<ChosenRows> chosen_;
  std::optional<Permutation> order_;
  SourceInfo info_;
  RepeatedKeys repeated_;
  OpenShards open_{dataset_.paths, manifest_, dataset_.shards,
                   [this](const ShardReader& shard) { prove(shard); }, leaves_out_damage()};
};

constexpr std::uint64_t kRowsThatShowOrder = 128;

// Whether its place still holds the set that was opened.
bool is_same_set(const OpenedDataset& dataset) try {
  const std::string manifest = public_manifest(dataset.paths.manifest);
  const ShardList now = open_shard_list(DatasetPaths(manifest.substr(0, manifest.rfind('/'))));
  const auto first_hash = [](const ShardList& shards) { return shards[0].files.front().hash; };
  return now.manifest().digest == dataset.manifest.digest &&
         now.manifest().format == dataset.manifest.format && now.size() == dataset.shards.size() &&
         (now.size() == 0 || first_hash(now) == first_hash(dataset.shards));
} catch (const Error&) {
  return false;
}

// The same of one file, as far as that is known.
bool is_same_file(const OpenedDataset& dataset) try {
  std::optional<ManifestShard> only = dataset.shards.only();
  if (!only || !dataset.manifest.source.file) return true;
  const InputFile file(join_path(dataset.paths.shards, only->files.front().name));
  // A damaged one may have been shorter when it was opened: its fingerprint is of that.
  only->files.front().bytes = std::min(only->files.front().bytes, file.size());
  return !change_since_index(file, dataset.manifest, only);
} catch (const Error&) {
  return true;
}

}  // namespace

void prove_files_of(const ShardReader& shard, const ShardLayout& layout,
                    std::span<const std::size_t> fields,
                    const std::function<void()>& stop_if_asked) {
  std::set<std::uint32_t> files;
  for (const std::size_t field : fields) files.insert(layout.part_file[layout.field_part[field]]);
  const std::vector<ManifestFile>& listed = shard.shard().files;
  for (const std::uint32_t file : files) {
    prove_file(shard.files()[file], file < listed.size() ? listed[file] : shard.shard().values,
               [&](auto) { stop_if_asked(); });
  }
}

void refuse_replaced(const OpenedDataset& dataset) {
  const bool is_file = dataset.manifest.layout.is_of_one_file();
  if (is_file ? is_same_file(dataset) : is_same_set(dataset)) return;
  throw Error(Code::mismatch, "the input was replaced or removed while it was read")
      .at(is_file ? dataset.shards[0].files.front().name : public_manifest(dataset.paths.manifest))
      .hint("run the command again when nothing writes there any more");
}

std::unique_ptr<OrderableSource> make_dataset_source(OpenedDataset dataset,
                                                     const DatasetSelection& selection) {
  return std::make_unique<DatasetSource>(std::move(dataset), selection);
}

// The order shows soon: 0, 1, 10, 11 ... 2.
std::string note_on_order(const OpenedDataset& dataset) try {
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
} catch (const Error& error) {
  if (error.code() != Code::damaged) throw;
  return {};  // whoever reads the samples says so
}

}  // namespace shale
