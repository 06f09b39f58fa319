#include "shale/verify/compared_sides.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/sources/dataset_source.hpp"

namespace shale {

SourceSide::SourceSide(Source& whole, std::shared_ptr<const Transform> transform,
                       const Schema& schema, JoinedBy joined_by, const Manifest& dataset,
                       ComparedRows& list)
    : whole_(whole),
      joined_by_(joined_by),
      label_(label_of(whole.info().schema, whole.info().fields)),
      dataset_(dataset),
      list_(list) {
  info_ = whole.info();
  info_.schema = schema;
  info_.transform = std::move(transform);
  // A set lists those that were skipped; of a file it is asked which could not be in it.
  if (!dataset.layout.is_of_one_file() || info_.transform) info_.image_fields.clear();
  info_.digest.reset();
}

std::optional<PendingSample> SourceSide::next(std::uint64_t) {
  while (std::optional<PendingSample> sample = next_of_whole()) {
    const bool is_by_key = joined_by_ == JoinedBy::key;
    std::int64_t label = 0;
    if (label_ && (is_by_key || !label_of(dataset_))) {
      label = std::exchange(sample->cells[*label_].integer, 0);
    } else if (label_ && !info_.row_bytes) {
      sample->cells[*label_].integer = label_by_name(sample->cells[*label_].integer);
    }
    const std::uint64_t row = row_++;
    if (sample->lacks.empty()) {
      known_.push_back({.place = is_by_key ? kUnread : row, .label = label});
      return sample;
    }
    if (is_by_key) list_.add({sample->key, kLacking, label});
  }
  return std::nullopt;
}

// The number that the dataset gives to the class; where one of the two has no names, the same.
std::int64_t SourceSide::label_by_name(std::int64_t label) const {
  const std::vector<std::string>&ours = dataset_.classes, &theirs = whole_.info().classes;
  if (label < 0 || static_cast<std::uint64_t>(label) >= theirs.size()) return label;
  const auto number = static_cast<std::size_t>(label);
  if (number < ours.size() && ours[number] == theirs[number]) return label;
  const auto same = std::ranges::find(ours, theirs[number]);
  return same == ours.end() ? label : same - ours.begin();
}

// Damage of the source is not one of the dataset.
std::optional<PendingSample> SourceSide::next_of_whole() try {
  return whole_.next(1);
} catch (const Error& error) {
  if (!info_.is_stream || error.code() != Code::damaged) throw;
  Error again(Code::bad_content, "{}", error.message());
  if (!error.cause().empty()) again.because(error.cause());
  again.at(error.file(), error.offset());
  if (error.sample()) again.for_sample(error.sample()->key);
  throw again.hint("the source is damaged, which says nothing of the dataset: get it again");
}

StoredSide::StoredSide(const OpenedDataset& dataset, const Schema& schema, JoinedBy joined_by,
                       std::vector<std::optional<std::size_t>> fields,
                       std::optional<std::size_t> label, ComparedRows& list)
    : dataset_(dataset),
      joined_by_(joined_by),
      fields_(std::move(fields)),
      label_(label),
      list_(list) {
  info_.schema = schema;
  info_.container = &format_of(dataset.manifest);
  info_.manifest.samples = dataset.manifest.digest.samples;
}

std::optional<PendingSample> StoredSide::next(std::uint64_t) {
  for (; shard_ < dataset_.shards.size(); ++shard_, row_ = 0) {
    ShardCursor* const opened = open_shard();
    if (opened == nullptr) continue;
    ShardCursor& shard = *opened;
    while (row_ < dataset_.shards.samples(shard_)) {
      const IndexRow row = shard.index->row(row_++);
      const Known known{.place = place_++, .label = label_ ? row.cells[*label_].integer : 0};
      PendingSample sample;
      if (take_places(shard, row, sample)) {
        known_.push_back(known);
        return sample;
      }
      list_.add({sample.key, known.place, known.label});
    }
  }
  return std::nullopt;
}

ShardCursor* StoredSide::open_shard() try { return &open_.at(shard_); } catch (const Error& error) {
  if (error.code() != Code::damaged) throw;
  const std::uint64_t rows = dataset_.shards.samples(shard_);
  lost_.rows += rows;
  lost_.names.push_back(dataset_.shards[shard_].name);
  place_ += rows;
  return nullptr;
}

// False: a value is missing, or does not lie in its file.
bool StoredSide::take_places(ShardCursor& shard, const IndexRow& row, PendingSample& sample) const {
  if (dataset_.manifest.layout.has_keys) {
    sample.key = as_text(shard.keys->view(row.key.offset, row.key.length));
    if (shard.reader->has_checksums() && crc32c(as_bytes(sample.key)) != row.key.crc32c) {
      sample.key.clear();
      return false;
    }
  }
  sample.keeps_open = shard.reader;
  const std::optional<std::size_t> label =
      joined_by_ == JoinedBy::key
          ? label_of(info_.schema, option_of(dataset_.manifest, kFieldsOption))
          : std::nullopt;
  ShapeWalk walk(row.sides);
  std::vector<std::span<const std::uint64_t>> shapes;
  for (const Field& field : dataset_.manifest.schema.fields) shapes.push_back(walk.next(field));
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const std::size_t field = fields_[i].value_or(0);
    const InputFile& file = shard.reader->file_of_field(field);
    sample.descriptors.push_back(file.descriptor());
    sample.cells.emplace_back();
    if (!fields_[i]) continue;
    if (i == label) {
      sample.cells.back().lacks_number = row.cells[field].lacks_number;
      continue;
    }
    sample.cells.back() = row.cells[field];
    if (info_.schema.fields[i].is_ragged())
      sample.sides.insert(sample.sides.end(), shapes[field].begin(), shapes[field].end());
    if (!is_located(info_.schema.fields[i].kind)) continue;
    const FieldPlace& place = row.cells[field].place;
    if (place.offset == kMissing && info_.schema.fields[i].is_optional) continue;
    if (place.offset > file.size() || place.length > file.size() - place.offset) return false;
    if (info_.schema.fields[i].kind == Kind::list) {
      const std::vector<FieldPlace> elements = shard.reader->elements_of(place);
      sample.elements.insert(sample.elements.end(), elements.begin(), elements.end());
    }
    sample.bytes += place.length;
  }
  return true;
}

RowsSide::RowsSide(const OpenedDataset& dataset, const Schema& schema) {
  std::vector<std::string> fields;
  for (const Field& field : schema.fields) fields.push_back(field.name);
  rows_ = make_dataset_source(dataset, {.fields = {.only = std::move(fields)}});
  info_ = rows_->info();
  info_.image_fields.clear();
  info_.digest.reset();
}

std::optional<PendingSample> RowsSide::next(std::uint64_t) {
  std::optional<PendingSample> row = rows_->next(1);
  if (row) known_.push_back({.place = place_++});
  return row;
}

}  // namespace shale
