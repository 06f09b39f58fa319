#include "shale/shards/index_file.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/wire/npy_header.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kNumberWindowBytes = 16 * 1024, kIndexWindowBytes = 64 * 1024;
constexpr std::uint64_t kRowsAtOnce = 16'384;
constexpr std::string_view kRebuild = "'shale index' rebuilds the list from its shard";
constexpr std::string_view kU64 = "<u8", kU32 = "<u4";

void encode_place(const FieldPlace& place, bool has_crc32c, ByteWriter& into) {
  into.write(place.offset);
  into.write(place.length);
  if (has_crc32c) into.write(place.crc32c);
}

FieldPlace decode_place(ByteReader& from, bool has_crc32c) {
  FieldPlace place;
  place.offset = from.read_u64();
  place.length = from.read_u64();
  if (has_crc32c) place.crc32c = from.read_u32();
  return place;
}

NpyHeader block_list_header(std::uint64_t blocks) {
  return {.dtype = DType::parse("|u1"), .shape = {blocks, 16}};
}

}  // namespace

Bytes FixedRun::read(const FixedColumn& column) {
  std::vector<std::byte>& values = values_.emplace_back(rows_ * column.stride);
  column.file->read_exact(column.place(begin_).offset, values);
  return values;
}

std::uint64_t row_bytes_of(std::span<const FixedColumn> columns) {
  std::uint64_t bytes = 0;
  for (const FixedColumn& column : columns) bytes += std::min(column.stride, kMissing - bytes);
  return bytes;
}

std::uint64_t rows_at_once(std::uint64_t row_bytes, std::uint64_t bytes) {
  return std::max<std::uint64_t>(1, bytes / std::max<std::uint64_t>(1, row_bytes));
}

FixedRowReader::FixedRowReader(std::vector<FixedColumn> columns) : columns_(std::move(columns)) {
  for (const FixedColumn& column : columns_) {
    if (!is_located(column.field->kind)) numbers_.emplace_back(*column.file, kNumberWindowBytes);
  }
}

IndexRow FixedRowReader::row(std::uint64_t row) {
  IndexRow made;
  auto window = numbers_.begin();
  for (const FixedColumn& column : columns_) {
    IndexCell& cell = made.cells.emplace_back();
    const FieldPlace place = column.place(row);
    if (!is_located(column.field->kind)) {
      try {
        cell = read_number(window++->view(place.offset, place.length), *column.field);
      } catch (Error& error) {
        error.at(column.file->path(), place.offset);
        throw;
      }
    }
    cell.place = place;
  }
  return made;
}

ElementColumns::ElementColumns(bool has_crc32c)
    : has_crc32c_(has_crc32c), header_bytes_(header(0).size()) {}

std::vector<std::byte> ElementColumns::header(std::uint64_t rows) const {
  std::vector<std::pair<std::string, std::string>> columns = {{"offset", "<u8"}, {"length", "<u8"}};
  if (has_crc32c_) columns.emplace_back("crc32c", "<u4");
  return npy_header_bytes({.dtype = DType::packed(columns), .shape = {rows}});
}

void ElementColumns::encode(const FieldPlace& element, ByteWriter& into) const {
  encode_place(element, has_crc32c_, into);
}

FieldPlace ElementColumns::decode(ByteReader& from) const {
  return decode_place(from, has_crc32c_);
}

ElementWriter::ElementWriter(OutputFile file, ElementColumns columns)
    : file_(std::move(file)), columns_(columns) {
  file_.append(columns_.header(0));
}

void ElementWriter::append(std::span<const FieldPlace> elements) {
  row_.clear();
  for (const FieldPlace& element : elements) columns_.encode(element, row_);
  file_.append(row_.bytes());
  rows_ += elements.size();
}

void ElementWriter::load_rebased() {
  first_loaded_ = rebased_;
  std::vector<std::byte> bytes(std::min(kRowsAtOnce, rows_ - rebased_) * columns_.row_bytes());
  file_.read_back(columns_.file_bytes(rebased_), bytes);
  ByteReader from(bytes, "element list");
  while (!from.at_end()) loaded_.push_back(columns_.decode(from));
}

void ElementWriter::store_rebased() {
  row_.clear();
  for (const FieldPlace& element : loaded_) columns_.encode(element, row_);
  file_.patch(columns_.file_bytes(first_loaded_), row_.bytes());
  loaded_.clear();
}

void ElementWriter::rebase_next(std::uint64_t count, std::uint64_t base) {
  if (count > rows_ - rebased_) {
    throw Error(Code::bug, "{} elements rebased behind {} of {}", count, rebased_, rows_);
  }
  for (; count > 0; --count) {
    if (loaded_.empty()) load_rebased();
    FieldPlace& element = loaded_[rebased_ - first_loaded_];
    if (element.offset != kMissing) element.offset += base;
    ++rebased_;
    if (rebased_ - first_loaded_ == loaded_.size()) store_rebased();
  }
}

FileSummary ElementWriter::finish() {
  file_.patch(0, columns_.header(rows_));
  return file_.finish();
}

ElementReader::ElementReader(const InputFile& file, ElementColumns columns)
    : file_(&file), columns_(columns) {
  const std::uint64_t header_bytes = columns_.file_bytes(0), row_bytes = columns_.row_bytes();
  const bool is_whole =
      file.size() >= header_bytes && (file.size() - header_bytes) % row_bytes == 0;
  if (!is_whole) {
    throw Error(Code::damaged, "element list is {} bytes long, which is not rows of {}",
                file.size(), row_bytes)
        .at(file.path())
        .hint(std::string(kRebuild));
  }
  rows_ = (file.size() - header_bytes) / row_bytes;
  const std::vector<std::byte> expected = columns_.header(rows_);
  std::vector<std::byte> found(header_bytes);
  file.read_exact(0, found);
  if (found == expected) return;
  throw Error(Code::damaged, "header is not that of a list of {} elements", rows_)
      .at(file.path(), 0)
      .hint(std::string(kRebuild));
}

std::vector<FieldPlace> ElementReader::read(std::uint64_t first, std::uint64_t count) const {
  if (first > rows_ || count > rows_ - first) {
    throw Error(Code::damaged, "the index places {} elements from {} on, but the list has {}",
                count, first, rows_)
        .at(file_->path())
        .hint(std::string(kRebuild));
  }
  std::vector<std::byte> bytes(count * columns_.row_bytes());
  file_->read_exact(columns_.file_bytes(first), bytes);
  ByteReader from(bytes, "element list");
  std::vector<FieldPlace> elements;
  elements.reserve(count);
  while (elements.size() < count) elements.push_back(columns_.decode(from));
  return elements;
}

IndexColumns::IndexColumns(const Schema& schema, const ShardLayout& layout)
    : has_keys_(layout.has_keys),
      has_whole_records_(layout.has_whole_records),
      has_crc32c_(layout.has_checksums),
      has_elements_(layout.has_elements) {
  if (!layout.rows.has_index()) return;
  if (has_keys_) {
    add_place("key");
    columns_.emplace_back("key_hash", kU64);
  }
  std::vector<std::size_t> first_columns;
  for (const Field& field : schema.fields) {
    first_columns.push_back(columns_.size());
    add_field(field);
  }
  if (has_whole_records_) {
    columns_.emplace_back("record.offset", kU64);
    columns_.emplace_back("record.length", kU64);
  }
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const std::size_t field = positions_.size();
    if (field < first_columns.size() && first_columns[field] == i) positions_.push_back(row_bytes_);
    row_bytes_ += DType::packed({&columns_[i], 1}).item_bytes();
  }
  header_bytes_ = header(0).size();
}

void IndexColumns::add_place(const std::string& name) {
  columns_.emplace_back(name + ".offset", kU64);
  columns_.emplace_back(name + ".length", kU64);
  if (has_crc32c_) columns_.emplace_back(name + ".crc32c", kU32);
}

void IndexColumns::add_field(const Field& field) {
  const FieldColumns& added = fields_.emplace_back(
      FieldColumns{field.kind, field.is_ragged() ? field.shape.size() : 0, field.is_optional});
  if (is_located(field.kind)) {
    add_place(field.name);
  } else {
    columns_.emplace_back(field.name, field.kind == Kind::integer ? "<i8" : "<f8");
  }
  if (field.kind == Kind::list) columns_.emplace_back(field.name + ".count", kU32);
  if (field.kind == Kind::list && has_elements_) columns_.emplace_back(field.name + ".first", kU64);
  if (added.ragged_axes > 0)
    columns_.emplace_back(field.name + ".shape", fmt::format("({},){}", added.ragged_axes, kU64));
  if (field.is_optional) columns_.emplace_back(field.name + ".present", "|b1");
}

std::vector<std::byte> IndexColumns::header(std::uint64_t rows) const {
  return npy_header_bytes({.dtype = DType::packed(columns_), .shape = {rows}});
}

void IndexColumns::encode(const IndexRow& row, ByteWriter& into) const {
  if (has_keys_) {
    encode_place(row.key, has_crc32c_, into);
    into.write(row.key_hash);
  }
  auto side = row.sides.begin();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    encode_number_or_place(fields_[i], row.cells[i], into);
    for (std::size_t axis = 0; axis < fields_[i].ragged_axes; ++axis) into.write(*side++);
    if (fields_[i].is_optional) into.write(std::uint8_t{fields_[i].is_present(row.cells[i])});
  }
  if (has_whole_records_) {
    into.write(row.record_offset);
    into.write(row.record_length);
  }
}

void IndexColumns::encode_number_or_place(const FieldColumns& field, const IndexCell& cell,
                                          ByteWriter& into) const {
  if (field.kind == Kind::integer) return into.write(cell.integer);
  if (field.kind == Kind::real) return into.write(cell.real);
  encode_place(cell.place, has_crc32c_, into);
  if (field.kind != Kind::list) return;
  into.write(cell.place.count);
  if (has_elements_) into.write(cell.place.first);
}

void IndexColumns::read_number_or_place(const FieldColumns& field, ByteReader& from,
                                        IndexCell& cell) const {
  if (field.kind == Kind::integer) {
    cell.integer = from.read_i64();
  } else if (field.kind == Kind::real) {
    cell.real = from.read_f64();
  } else {
    cell.place = decode_place(from, has_crc32c_);
    if (field.kind == Kind::list) cell.place.count = from.read_u32();
    if (field.kind == Kind::list && has_elements_) cell.place.first = from.read_u64();
  }
}

IndexRow IndexColumns::decode(Bytes bytes) const {
  ByteReader from(bytes, "index row");
  IndexRow row;
  if (has_keys_) {
    row.key = decode_place(from, has_crc32c_);
    row.key_hash = from.read_u64();
  }
  row.cells.resize(fields_.size());
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    read_number_or_place(fields_[i], from, row.cells[i]);
    for (std::size_t axis = 0; axis < fields_[i].ragged_axes; ++axis)
      row.sides.push_back(from.read_u64());
    if (!fields_[i].is_optional) continue;
    const bool is_present = from.read_u8() != 0;
    row.cells[i].lacks_number = !is_present && !is_located(fields_[i].kind);
    if (is_present != fields_[i].is_present(row.cells[i])) {
      throw Error(Code::damaged, "an index row says that a value is {}, and that it lies {}",
                  is_present ? "there" : "absent", is_present ? "nowhere" : "in the shard");
    }
  }
  if (has_whole_records_) {
    row.record_offset = from.read_u64();
    row.record_length = from.read_u64();
  }
  return row;
}

FieldPlace IndexColumns::decode_place_at(Bytes row, std::uint64_t position) const {
  ByteReader from(row.subspan(position));
  return decode_place(from, has_crc32c_);
}

IndexWriter::IndexWriter(OutputFile file, IndexColumns columns, std::optional<OutputFile> elements)
    : file_(std::move(file)), columns_(std::move(columns)) {
  file_.append(columns_.header(0));
  if (elements.has_value() != columns_.elements().has_value())
    throw Error(Code::bug, "an index and its list of elements do not fit").at(file_.path());
  if (elements) elements_.emplace(*std::move(elements), *columns_.elements());
}

void IndexWriter::append_elements(IndexRow& row) {
  std::uint64_t first = elements_->rows();
  for (IndexCell& cell : row.cells) {
    cell.place.first = cell.place.count > 0 ? first : 0;
    first += cell.place.count;
  }
  if (first - elements_->rows() != row.elements.size()) {
    throw Error(Code::bug, "row {} has {} elements, its lists have {}", rows_, row.elements.size(),
                first - elements_->rows());
  }
  elements_->append(row.elements);
}

void IndexWriter::append(const IndexRow& row) {
  row_.clear();
  if (elements_) {
    IndexRow numbered = row;
    append_elements(numbered);
    columns_.encode(numbered, row_);
  } else {
    columns_.encode(row, row_);
  }
  file_.append(row_.bytes());
  ++rows_;
}

void IndexWriter::rebase(std::uint64_t key_base, std::span<const std::uint64_t> field_bases,
                         std::uint64_t record_base) {
  const std::uint64_t row_bytes = columns_.row_bytes();
  const std::uint64_t rows_at_once = std::max<std::uint64_t>(1, kBlockBytes / row_bytes);
  std::vector<std::byte> chunk;
  for (std::uint64_t first = 0; first < rows_; first += rows_at_once) {
    const std::uint64_t count = std::min(rows_at_once, rows_ - first);
    chunk.resize(count * row_bytes);
    file_.read_back(columns_.file_bytes(first), chunk);
    row_.clear();
    for (std::uint64_t i = 0; i < count; ++i) {
      IndexRow row = columns_.decode(Bytes(chunk).subspan(i * row_bytes, row_bytes));
      if (elements_) rebase_elements(row, field_bases);
      move_places(row, key_base, field_bases, record_base);
      columns_.encode(row, row_);
    }
    file_.patch(columns_.file_bytes(first), row_.bytes());
  }
}

void IndexWriter::rebase_elements(const IndexRow& row, std::span<const std::uint64_t> field_bases) {
  for (std::size_t i = 0; i < row.cells.size(); ++i)
    elements_->rebase_next(row.cells[i].place.count, field_bases[i]);
}

WrittenIndex IndexWriter::finish() {
  file_.patch(0, columns_.header(rows_));
  WrittenIndex written{.index = file_.finish(), .elements = std::nullopt};
  if (elements_) written.elements = elements_->finish();
  return written;
}

IndexReader::IndexReader(const InputFile& file, const IndexColumns& columns, std::uint64_t rows)
    : rows_(rows), from_(IndexFile{&file, columns, WindowReader(file, kIndexWindowBytes)}) {
  const std::vector<std::byte> expected = columns.header(rows);
  // Divided, not multiplied: the number of rows may come from a hostile file.
  const bool has_right_size = file.size() >= expected.size() &&
                              (file.size() - expected.size()) % columns.row_bytes() == 0 &&
                              (file.size() - expected.size()) / columns.row_bytes() == rows;
  if (!has_right_size) {
    throw Error(Code::damaged, "index is {} bytes long, which is not {} rows of {}", file.size(),
                rows, columns.row_bytes())
        .at(file.path());
  }
  const Bytes found = std::get<IndexFile>(from_).window.view(0, expected.size());
  const auto differs = std::mismatch(found.begin(), found.end(), expected.begin()).first;
  if (differs != found.end()) {
    throw Error(Code::damaged, "index header does not match this dataset's schema with {} rows",
                rows)
        .at(file.path(), static_cast<std::uint64_t>(differs - found.begin()));
  }
}

IndexReader::IndexReader(FixedRowReader fixed, std::uint64_t rows)
    : rows_(rows), from_(std::move(fixed)) {}

Bytes IndexReader::row_bytes(std::uint64_t row) {
  auto& [file, columns, window] = std::get<IndexFile>(from_);
  return window.view(columns.file_bytes(row), columns.row_bytes());
}

void IndexReader::require_row(std::uint64_t row) const {
  if (row >= rows_) throw Error(Code::bug, "row {} requested from an index of {}", row, rows_);
}

IndexRow IndexReader::row(std::uint64_t row) {
  require_row(row);
  if (FixedRowReader* fixed = std::get_if<FixedRowReader>(&from_)) return fixed->row(row);
  const auto& [file, columns, window] = std::get<IndexFile>(from_);
  try {
    return columns.decode(row_bytes(row));
  } catch (Error& error) {
    throw error.at(file->path(), columns.file_bytes(row));
  }
}

FieldPlace IndexReader::place(std::uint64_t row, std::uint64_t position) {
  require_row(row);
  return std::get<IndexFile>(from_).columns.decode_place_at(row_bytes(row), position);
}

std::vector<std::byte> block_list_bytes(std::span<const Hash128> blocks) {
  std::vector<std::byte> bytes = npy_header_bytes(block_list_header(blocks.size()));
  for (const Hash128& block : blocks) {
    const auto hash = block.bytes();
    bytes.insert(bytes.end(), hash.begin(), hash.end());
  }
  return bytes;
}

std::vector<Hash128> read_block_list(const InputFile& file, std::uint64_t blocks) {
  const std::vector<std::byte> header = npy_header_bytes(block_list_header(blocks));
  const std::uint64_t expected_bytes = header.size() + blocks * 16;
  if (file.size() != expected_bytes) {
    throw Error(Code::damaged, "block list is {} bytes long, expected {} for {} blocks",
                file.size(), expected_bytes, blocks)
        .at(file.path());
  }
  std::vector<std::byte> bytes(expected_bytes);
  file.read_exact(0, bytes);
  if (!std::equal(header.begin(), header.end(), bytes.begin())) {
    throw Error(Code::damaged, "block list header is not for an array of ({}, 16) uint8", blocks)
        .at(file.path(), 0);
  }
  std::vector<Hash128> hashes;
  hashes.reserve(blocks);
  for (std::uint64_t i = 0; i < blocks; ++i) {
    hashes.push_back(
        Hash128::from_bytes(Bytes(bytes).subspan(header.size() + i * 16).template first<16>()));
  }
  return hashes;
}

}  // namespace shale
