#include "shale/shards/dataset_reader.hpp"

#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/mismatch.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/io/file_summary.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/shards/rebuild_hint.hpp"
#include "shale/shards/unread_extent.hpp"

namespace shale {
namespace {

constexpr std::string_view kCopyFile = "copy it from an intact copy of the dataset";

std::string hint_of_list(const DatasetPaths& paths, const ManifestShard& shard) {
  const std::string name = shard.files.empty() ? shard.name : shard.files.front().name;
  return rebuild_hint(paths.lists, join_path(paths.shards, name));
}

// `hint`: what to do about a file that is not there.
InputFile open_listed(const std::string& path, std::string_view hint) try {
  return InputFile(path);
} catch (const Error& error) {
  if (error.code() != Code::not_found) throw;
  throw Error(Code::damaged, "is missing, but the manifest lists it")
      .at(path)
      .hint(std::string(hint));
}

InputFile open_checked(const std::string& directory, const ManifestFile& file,
                       std::string_view hint, std::optional<InputFile> before = {},
                       bool is_of_any_size = false) {
  InputFile opened =
      before ? std::move(*before) : open_listed(join_path(directory, file.name), hint);
  if (opened.size() != file.bytes && !is_of_any_size) {
    throw file_size_mismatch(opened.size(), file.bytes)
        .error()
        .at(opened.path())
        .hint("the file was truncated, or is not the one that the manifest lists; copy it again");
  }
  return opened;
}

// Reads one extent to the end of `bytes` and proves its checksum.
void check_place(const InputFile& file, const FieldPlace& place) {
  if (place.length > file.size() || place.offset > file.size() - place.length) {
    throw Error(Code::damaged, "index places {} bytes here, but the file has {}", place.length,
                file.size())
        .at(file.path(), place.offset);
  }
}

void read_extent(const InputFile& file, const FieldPlace& place, bool has_crc32c,
                 std::vector<std::byte>& bytes) {
  check_place(file, place);
  const std::size_t begin = bytes.size();
  bytes.resize(begin + place.length);
  file.read_exact(place.offset, std::span(bytes).subspan(begin));
  if (has_crc32c) prove_value(Bytes(bytes).subspan(begin), place, file);
}

// Scans and readers take a layout of ours for the one that their format makes.
void check_layout(const Format& format, const Manifest& manifest) {
  const ShardLayout& layout = manifest.layout;
  // Lists without framing can only be divided by the list of their elements.
  const bool lacks_elements =
      manifest.schema.has_lists() && format.split_list == nullptr && !layout.has_elements;
  if (layout.dialect != Dialect::own && !lacks_elements) {
    if (format.survey != nullptr) return;
    throw Error(Code::damaged, "format '{}' cannot read files of other tools", format.name);
  }
  const auto expected = [&] {
    check_schema_fits(format, manifest.schema);
    ShardLayout made = format.layout(manifest.schema, OptionSet(format.options));
    // Sets of shale 0.2.0 have none.
    if (format.split_list != nullptr) made.has_elements = layout.has_elements;
    // Sets without names, or with more than a shard can have, have none in their shards.
    made.has_classes = layout.has_classes && format.classes != nullptr;
    if (!layout.is_of_one_file()) return made;
    made = as_one_file(std::move(made));
    made.has_checksums = layout.has_checksums;
    return made;
  };
  try {
    if (layout == expected()) return;
  } catch (const Error& error) {
    throw Error(Code::damaged, "format '{}' cannot hold the fields of the manifest", format.name)
        .because(error.message());
  }
  throw Error(Code::damaged, "the manifest has a layout that format '{}' does not make",
              format.name)
      .hint("the manifest was changed after it was written; restore it from an intact copy");
}

// Values of a sample that is too large from this size on stay unread.
constexpr std::uint64_t kLeastUnreadBytes = 4096;

class SampleLoading {
 public:
  SampleLoading(const ShardReader& shard, const IndexRow& row, const Schema& schema,
                const Format& format, const LoadLimits& limits)
      : shard_(shard), row_(row), schema_(schema), format_(format), limits_(limits) {}

  LoadedSample load() {
    loaded_.bytes.reserve(bytes_to_hold());
    if (row_.key.offset != kMissing) {
      read_extent(shard_.file_of_key(), row_.key, shard_.has_checksums(), loaded_.bytes);
      loaded_.sample.key = as_text(loaded_.bytes);
    }
    ShapeWalk shapes(row_.sides);
    for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
      check_shape(i, shapes.next(schema_.fields[i]));
      loaded_.sample.values.push_back(value_of(i));
    }
    loaded_.sample.sides = row_.sides;
    return std::move(loaded_);
  }

 private:
  // Of the bytes of the sample, those that are read now. A false length is not a matter of memory.
  std::uint64_t bytes_to_hold() {
    std::uint64_t held = row_.key.length;
    loaded_.all_bytes = row_.key.length;
    for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
      const FieldPlace& place = row_.cells[i].place;
      if (!is_located(schema_.fields[i].kind) || place.offset == kMissing) continue;
      check_place(shard_.file_of_field(i), place);
      loaded_.all_bytes += place.length;
    }
    is_too_large_ = loaded_.all_bytes > limits_.bytes;
    for (std::size_t i = 0; i < schema_.fields.size(); ++i) {
      const FieldPlace& place = row_.cells[i].place;
      const bool is_read = is_located(schema_.fields[i].kind) && place.offset != kMissing;
      if (is_read && !stays_unread(i)) held += place.length;
      if (held > limits_.bytes) {
        throw sample_over_limit(held, limits_.bytes)
            .at(shard_.file_of_field(i).path())
            .hint("pass a larger --memory");
      }
    }
    return held;
  }

  [[nodiscard]] bool stays_unread(std::size_t field) const {
    return is_too_large_ && !schema_.fields[field].holds_text() &&
           row_.cells[field].place.length >= kLeastUnreadBytes;
  }

  // The sides that the index has must be those of the schema, and of the bytes.
  void check_shape(std::size_t field, std::span<const std::uint64_t> shape) const {
    const FieldPlace& place = row_.cells[field].place;
    const Field& described = schema_.fields[field];
    if (!described.is_ragged() || place.offset == kMissing) return;
    if (described.takes_tensor(shape, place.length)) return;
    throw wrong_shape(described, shape, place.length)
        .at(shard_.index_path())
        .for_sample(loaded_.sample.key);
  }

  Value value_of(std::size_t field) {
    const Kind kind = schema_.fields[field].kind;
    const IndexCell& cell = row_.cells[field];
    const bool may_be_absent = schema_.fields[field].is_optional || shard_.may_lack_values();
    if (may_be_absent && is_absent(cell, schema_.fields[field])) return std::monostate();
    if (kind == Kind::integer) return cell.integer;
    if (kind == Kind::real) return cell.real;
    if (cell.place.offset == kMissing) {
      throw Error(Code::schema, "sample has no field '{}'", printable(schema_.fields[field].name))
          .for_sample(loaded_.sample.key);
    }
    const InputFile& file = shard_.file_of_field(field);
    const bool is_list = kind == Kind::list;
    if (stays_unread(field) && is_list) return unread_list(file, cell.place);
    if (stays_unread(field)) return unread(file, cell.place, shard_.has_checksums());
    const std::size_t begin = loaded_.bytes.size();
    read_extent(file, cell.place, shard_.has_checksums(), loaded_.bytes);
    // reserve() covers every extent: the bytes do not move any more.
    const Bytes extent = Bytes(loaded_.bytes).subspan(begin);
    if (!is_list) return extent;
    return split_list(format_, extent, cell.place, shard_.elements_of(cell.place));
  }

  [[nodiscard]] Unread unread(const InputFile& file, const FieldPlace& place,
                              bool has_crc32c) const {
    return std::make_shared<UnreadExtent>(
        UnreadExtent::Place{.descriptor = file.descriptor(),
                            .offset = place.offset,
                            .bytes = place.length,
                            .crc32c = has_crc32c ? std::optional(place.crc32c) : std::nullopt,
                            .keeps_open = limits_.keeps_open},
        limits_.step);
  }

  // The list is proved as a whole before its headers are believed.
  [[nodiscard]] std::vector<Unread> unread_list(const InputFile& file,
                                                const FieldPlace& list) const {
    const Unread whole = unread(file, list, shard_.has_checksums());
    if (shard_.has_checksums()) whole->for_each_piece([](Bytes) {});
    return split_unread_list(
        format_, whole, list, shard_.elements_of(list),
        [&](const FieldPlace& element) { return unread(file, element, false); });
  }

  const ShardReader& shard_;
  const IndexRow& row_;
  const Schema& schema_;
  const Format& format_;
  const LoadLimits& limits_;
  LoadedSample loaded_;
  bool is_too_large_ = false;
};

}  // namespace

const Format& format_of(const Manifest& manifest) {
  for (const Format* format : all_formats()) {
    if (format->name != manifest.format) continue;
    check_layout(*format, manifest);
    return *format;
  }
  throw Error(Code::unsupported, "unknown dataset format '{}' in this version of shale",
              printable(manifest.format))
      .hint(fmt::format("it was written by {}; 'shale formats' lists what this one reads",
                        printable(manifest.generator)));
}

ShardReader::ShardReader(const DatasetPaths& paths, const Manifest& manifest, ManifestShard shard,
                         bool keeps_open, ShardFiles opened)
    : shard_(std::move(shard)),
      schema_(&manifest.schema),
      layout_(&manifest.layout),
      columns_(manifest.schema, manifest.layout) {
  if (layout_->rows.has_index()) {
    index_ = open_checked(paths.lists, shard_.index, hint_of_list(paths, shard_),
                          std::move(opened.index));
  }
  if (layout_->has_elements) {
    elements_file_ = std::make_unique<InputFile>(open_checked(
        paths.lists, shard_.elements, hint_of_list(paths, shard_), std::move(opened.elements)));
    elements_.emplace(*elements_file_, *columns_.elements());
    const bool is_pickled =
        layout_->dialect == Dialect::pickle || layout_->dialect == Dialect::tensorpack;
    splits_by_elements_ = is_pickled || format_of(manifest).split_list == nullptr;
  }
  try {
    check_shard_files(shard_, *schema_, *layout_);
  } catch (Error& error) {
    throw error.at(paths.manifest);
  }
  for (std::size_t i = 0; i < shard_.files.size(); ++i) {
    std::optional<InputFile> before;
    if (!opened.data.empty()) before = std::move(opened.data[i]);
    files_.push_back(open_checked(paths.shards, shard_.files[i], kCopyFile, std::move(before),
                                  opened.are_of_any_size));
    if (!keeps_open) files_.back().close();
  }
  if (layout_->has_values) {
    files_.push_back(open_checked(paths.lists, shard_.values, hint_of_list(paths, shard_)));
    if (!keeps_open) files_.back().close();
  }
}

const std::string& ShardReader::index_path() const {
  return index_ ? index_->path() : files_.front().path();
}

std::vector<FieldPlace> ShardReader::elements_of(const FieldPlace& list) const {
  if (!splits_by_elements_ || list.offset == kMissing || list.count == 0) return {};
  return elements_->read(list.first, list.count);
}

std::vector<FieldPlace> ShardReader::elements_of(const IndexRow& row) const {
  std::vector<FieldPlace> all;
  for (std::size_t i = 0; splits_by_elements_ && i < schema_->fields.size(); ++i) {
    if (schema_->fields[i].kind != Kind::list) continue;
    const std::vector<FieldPlace> own = elements_of(row.cells[i].place);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

FixedColumn ShardReader::fixed_column(std::size_t field) const {
  const Field& of_schema = schema_->fields[field];
  return {&file_of_field(field), &of_schema, shard_.bases[field],
          fixed_bytes_of(of_schema).value()};
}

std::vector<FixedColumn> ShardReader::fixed_columns() const {
  std::vector<FixedColumn> columns;
  for (std::size_t i = 0; i < schema_->fields.size(); ++i) columns.push_back(fixed_column(i));
  return columns;
}

IndexReader ShardReader::open_index() const try {
  if (index_) return IndexReader(*index_, columns_, shard_.digest.samples);
  return IndexReader(FixedRowReader(fixed_columns()), shard_.digest.samples);
} catch (Error& error) {
  const bool is_of_index = index_ && error.file() == index_->path() && error.hint().empty();
  if (is_of_index) error.hint(rebuild_hint(folder_of_file(index_->path()), files_.front().path()));
  throw;
}

const InputFile& ShardReader::file_of_field(std::size_t field) const {
  return files_[layout_->part_file[layout_->field_part[field]]];
}

const InputFile& ShardReader::file_of_key() const {
  return files_[layout_->part_file[layout_->key_part]];
}

const std::string& ShardReader::listed_name(std::optional<std::size_t> field) const {
  const InputFile& file = field ? file_of_field(*field) : file_of_key();
  const auto number = static_cast<std::size_t>(&file - files_.data());
  return number < shard_.files.size() ? shard_.files[number].name : shard_.values.name;
}

void ShardReader::prove_index(const std::function<void(std::uint64_t bytes)>& progress) const {
  if (index_) prove_file(*index_, shard_.index, progress);
  if (elements_file_) prove_file(*elements_file_, shard_.elements, progress);
  if (layout_->has_values && !has_checksums()) prove_file(files_.back(), shard_.values, progress);
}

void prove_file(const InputFile& file, const ManifestFile& expected,
                const std::function<void(std::uint64_t bytes)>& progress) {
  if (expected.hash == Hash128{}) return;  // never read as a whole
  if (summarize_file(file, progress).hash == expected.hash) return;
  file.drop_cache(0, file.size());
  const Hash128 found = summarize_file(file, progress).hash;
  if (found == expected.hash) return;
  throw file_hash_mismatch(found, expected.hash)
      .error()
      .at(file.path())
      .hint("run 'shale verify' to list all the damage");
}

void prove_block_list(const DatasetPaths& paths, const ManifestShard& shard) {
  if (!shard.blocks.name.empty())
    prove_file(open_checked(paths.lists, shard.blocks, hint_of_list(paths, shard)), shard.blocks);
}

void prove_list(const DatasetPaths& paths, const ManifestFile& list,
                const std::function<void(std::uint64_t bytes)>& progress) {
  prove_file(open_checked(paths.lists, list, kCopyFile), list, progress);
}

void prove_other_files(const DatasetPaths& paths, const Manifest& manifest) {
  for (const ManifestFile& file : manifest.files) prove_list(paths, file);
}

void prove_value(Bytes value, const FieldPlace& place, const InputFile& file) {
  const std::uint32_t found = crc32c(value);
  if (found == place.crc32c) return;
  throw checksum_mismatch(place.length, found, place.crc32c)
      .error()
      .at(file.path(), place.offset)
      .hint("run 'shale verify' to list all the damage");
}

Error no_such_element(std::uint64_t number, std::string_view field, std::uint64_t count) {
  return Error(Code::not_found, "no element {} in field '{}', which has {}", number,
               printable(field), count)
      .hint("elements are numbered from 0");
}

Error sample_over_limit(std::uint64_t bytes, std::uint64_t limit_bytes) {
  return Error(Code::limit, "sample is {} bytes, more than the {} that may be held in memory",
               bytes, limit_bytes);
}

Error wrong_shape(const Field& field, std::span<const std::uint64_t> shape, std::uint64_t bytes) {
  return Error(Code::damaged, "the index gives field '{}' the shape {} and {} bytes, but it is {}",
               printable(field.name), shape_text(shape), bytes, field_type_text(field))
      .hint("run 'shale verify' to list all the damage");
}

LoadedSample load_sample(const ShardReader& shard, const IndexRow& row, const Schema& schema,
                         const Format& format, const LoadLimits& limits) {
  return SampleLoading(shard, row, schema, format, limits).load();
}

}  // namespace shale
