#include "formats/parquet/parquet_writer.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/format/column_spill.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/parquet/parquet_footer.hpp"
#include "shale/wire/npy_header.hpp"

#include "formats/parquet/parquet_features.hpp"
#include "formats/parquet/parquet_page.hpp"
#include "formats/parquet/parquet_plan.hpp"

namespace shale {
namespace {

// A number as its column stores it: integers of fewer bytes than 4 have 4, a bool one byte, which
// becomes a bit when its page is whole.
void append_number(const Value& value, const Field& field, Blob& part, IndexCell& cell) {
  std::array<std::byte, sizeof(std::int64_t)> bytes{};
  const DType dtype = dtype_of_column(field);
  write_number(value, field, std::span(bytes).first(dtype.item_bytes()));
  std::uint64_t stored = dtype.item_bytes();
  if (field.kind == Kind::real) {
    cell.real = std::get<double>(value);
  } else {
    cell.integer = std::get<std::int64_t>(value);
    if (dtype.descr() != "|b1" && stored < sizeof(std::int32_t)) {
      stored = sizeof(std::int32_t);
      const Bytes number = bytes_of(cell.integer);
      std::copy(number.begin(), number.begin() + sizeof(std::int32_t), bytes.begin());
    }
  }
  part.append_copy(Bytes(bytes).first(stored));
}

void append_list(const Value& list, FieldPlace& place, Blob& part) {
  const std::uint64_t count = count_elements(list);
  check_elements(count);
  place = {.offset = 0, .count = static_cast<std::uint32_t>(count)};
  for (std::uint64_t i = 0; i < count; ++i) {
    const AnyBytes element = element_of(list, i);
    const auto length = static_cast<std::uint32_t>(element.size());
    part.append_copy(bytes_of(length));
    part.append(element);
    place.length += kValueLengthBytes + element.size();
    place.crc32c = crc32c(bytes_of(length), place.crc32c);
    place.crc32c = element.unread() == nullptr
                       ? crc32c(element.held(), place.crc32c)
                       : crc32c_combine(place.crc32c, element.crc32c(), element.size());
  }
}

void append_run(const AnyBytes& bytes, const Field& field, std::span<const std::uint64_t> shape,
                Blob& part, FieldPlace& place) {
  const std::optional<ListedNumbers> numbers = numbers_in(field);
  if (numbers && numbers->inner > 0 && bytes.size() > kMostNestedBytes) {
    throw Error(Code::limit, "field '{}' has {} bytes; a list of lists in Parquet holds at most {}",
                field.name, bytes.size(), kMostNestedBytes)
        .hint("choose --to record, lmdb or hdf5, or leave the field out: --fields");
  }
  if (is_npy(field)) {
    part.append_copy(
        npy_header_bytes({.dtype = field.dtype, .shape = {shape.begin(), shape.end()}}));
  }
  place = {.offset = part.size(), .length = bytes.size(), .crc32c = bytes.crc32c()};
  part.append(bytes);
}

class ParquetSizer final : public ShardSizer {
 public:
  explicit ParquetSizer(ParquetMeasure measure) : measure_(std::move(measure)) {}
  [[nodiscard]] std::vector<std::uint64_t> size_with(std::span<const std::uint64_t> part_bytes,
                                                     std::uint64_t /*samples*/) const override {
    return {measure_.bytes_with(part_bytes)};
  }
  void add(std::span<const std::uint64_t> part_bytes, std::uint64_t /*samples*/) override {
    measure_.add(part_bytes);
  }

 private:
  ParquetMeasure measure_;
};

// A column of the row group under way: its whole pages, and the one that grows.
struct OpenColumn {
  explicit OpenColumn(const ParquetLeaf& of) : leaf(&of), levels(of) {}
  const ParquetLeaf* leaf;
  PageLevels levels;
  ValueBounds page_bounds, chunk_bounds;
  ByteWriter values;
  WrittenChunk chunk;                 // offsets count from where the chunk begins
  std::uint64_t bytes = 0, rows = 0;  // of whole pages
  std::vector<std::uint64_t> places;  // of every row: where its value begins in the chunk
  std::size_t unplaced = 0;           // the first of them that counts from the page's values
};

class ParquetWriter final : public ShardWriter {
 public:
  ParquetWriter(OutputFile& file, Schema schema, ParquetPlan plan)
      : file_(file),
        schema_(std::move(schema)),
        plan_(std::move(plan)),
        order_(plan_.order()),
        measure_(plan_, schema_),
        sizes_(plan_.parts) {
    file_.append(as_bytes(kParquetMagic));
    begin_group();
  }

  std::span<const std::uint64_t> append(const Record& record) override {
    if (is_closed_) throw Error(Code::bug, "a record for a closed file").at(file_.path());
    for (std::size_t i = 0; i < sizes_.size(); ++i) sizes_[i] = record.parts[i].size();
    offsets_.clear();
    if (measure_.closes_group(sizes_)) finish_group();
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (rows_ > 0 && measure_.begins_page(i, sizes_)) finish_page(columns_[i], nullptr);
      add(columns_[i], record);
    }
    if (plan_.has_key_column()) keys_are_text_ = keys_are_text_ && is_utf8(record.key);
    measure_.add(sizes_);
    ++rows_;
    return offsets_;
  }

  void name_labels(const LabelNames& names) override { names_ = names; }

  ClosedShard close() override {
    is_closed_ = true;
    offsets_.clear();
    if (rows_ > 0) finish_group();
    WrittenFile end = describe_parquet(plan_, schema_, names_, keys_are_text_);
    end.groups = std::move(groups_);
    file_.append(
        parquet_tail(end, file_.size(), measure_.bytes() + bytes_of_class_names(names_.names)));
    return {.late_offsets = offsets_, .part_bases = {}};
  }

 private:
  void begin_group() {
    columns_.clear();
    for (const ParquetLeaf& leaf : plan_.leaves) columns_.emplace_back(leaf);
    spill_.emplace(folder_of_file(file_.path()), columns_.size());
    rows_ = 0;
  }

  void add(OpenColumn& column, const Record& record) {
    const ParquetLeaf& leaf = *column.leaf;
    const Blob& part = record.parts[leaf.part];
    const IndexCell* const cell = leaf.part == 0 ? nullptr : &record.row.cells[leaf.part - 1];
    const bool is_absent =
        cell != nullptr && shale::is_absent(*cell, schema_.fields[leaf.part - 1]);
    RowLevels levels{.is_absent = is_absent};
    if (leaf.is_list && !is_absent)
      levels.elements = leaf.item_bytes > 0 ? part.size() / leaf.slot_bytes() : cell->place.count;
    column.levels.add(levels);
    if (leaf.is_path) return;
    if (leaf.has_bounds && !is_absent) {
      if (cell == nullptr) {
        column.page_bounds.add(as_bytes(record.key));
      } else {
        column.page_bounds.add(leaf, *cell);
      }
    }
    const bool has_length = leaf.adds_length() && !is_absent;
    column.places.push_back(column.values.size() + (has_length ? kValueLengthBytes : 0));
    if (has_length) column.values.write(static_cast<std::uint32_t>(part.size()));
    // What is a page by itself is never held twice.
    if (part.size() > kLargeValue && column.levels.rows() == 1) return finish_page(column, &part);
    part.for_each_piece([&](Bytes piece) { column.values.write_bytes(piece); });
  }

  // `large`: what follows the values that are held.
  void finish_page(OpenColumn& column, const Blob* large) {
    if (column.levels.rows() == 0) return;
    const std::vector<std::byte> levels = column.levels.bytes();
    if (column.leaf->type == ParquetType::boolean) pack_bits(column);
    std::uint32_t crc = crc32(column.values.bytes(), crc32(levels));
    std::uint64_t bytes = levels.size() + column.values.size();
    if (large != nullptr) {
      large->for_each_piece([&](Bytes piece) { crc = crc32(piece, crc); });
      bytes += large->size();
    }
    const std::vector<std::byte> header = data_page_header(bytes, crc, column.levels.slots());
    put(column, header);
    put(column, levels);
    put(column, column.values.bytes());
    if (large != nullptr) large->for_each_piece([&](Bytes piece) { put(column, piece); });
    for (; column.unplaced < column.places.size(); ++column.unplaced)
      column.places[column.unplaced] += column.bytes + header.size() + levels.size();
    WrittenPage page = page_facts(*column.leaf, column.levels, column.page_bounds, column.rows);
    page.offset = column.bytes;
    page.bytes = header.size() + bytes;
    column.chunk.pages.push_back(std::move(page));
    column.bytes += header.size() + bytes;
    column.rows += column.levels.rows();
    column.chunk_bounds.add(column.page_bounds);
    column.page_bounds = {};
    column.levels.clear();
    column.values.clear();
  }

  static void pack_bits(OpenColumn& column) {
    const std::vector<std::byte> flags = column.values.take();
    std::vector<std::byte> bits((flags.size() + 7) / 8);
    for (std::size_t i = 0; i < flags.size(); ++i) bits[i / 8] |= flags[i] << (i % 8);
    column.values.clear();
    column.values.write_bytes(bits);
  }

  void put(const OpenColumn& column, Bytes bytes) {
    const auto number = static_cast<std::size_t>(&column - columns_.data());
    if (number == plan_.streamed) {
      file_.append(bytes);
    } else {
      spill_->append(number, bytes);
    }
  }

  // Gives its rows their offsets.
  void finish_group() {
    for (OpenColumn& column : columns_) finish_page(column, nullptr);
    WrittenGroup group{.rows = rows_, .chunks = std::vector<WrittenChunk>(columns_.size())};
    std::uint64_t begin = file_.size() - columns_[plan_.streamed].bytes;
    std::vector<const OpenColumn*> of_part(plan_.parts);
    std::vector<std::uint64_t> bases(plan_.parts);
    for (const std::size_t i : order_) {
      OpenColumn& column = columns_[i];
      if (i != plan_.streamed) spill_->read(i, [this](Bytes piece) { file_.append(piece); });
      for (WrittenPage& page : column.chunk.pages) page.offset += begin;
      finish_chunk(*column.leaf, column.chunk_bounds, column.chunk);
      group.chunks[i] = std::move(column.chunk);
      if (!column.leaf->is_path) {
        of_part[column.leaf->part] = &column;
        bases[column.leaf->part] = begin;
      }
      begin += column.bytes;
    }
    offsets_.reserve(rows_ * plan_.parts);
    for (std::uint64_t row = 0; row < rows_; ++row) {
      for (std::size_t part = 0; part < plan_.parts; ++part)
        offsets_.push_back(of_part[part] == nullptr ? 0 : bases[part] + of_part[part]->places[row]);
    }
    groups_.push_back(std::move(group));
    measure_.close_group();
    begin_group();
  }

  static constexpr std::uint64_t kLargeValue = (1 << 20) - kValueLengthBytes;

  OutputFile& file_;
  const Schema schema_;
  const ParquetPlan plan_;
  const std::vector<std::size_t> order_;
  ParquetMeasure measure_;
  std::vector<OpenColumn> columns_;  // one per leaf
  std::optional<ColumnSpill> spill_;
  std::vector<WrittenGroup> groups_;
  std::uint64_t rows_ = 0;  // of the group
  std::vector<std::uint64_t> sizes_, offsets_;
  LabelNames names_;
  bool keys_are_text_ = true, is_closed_ = false;
};

ParquetPlan plan_of(const Schema& schema, const OptionSet& options) {
  return plan_parquet(schema, row_group_bytes_of(options));
}

}  // namespace

Record encode_parquet(const Sample& sample, const Schema& schema, const OptionSet&) {
  if (sample.key.size() > kMaxKeyBytes)
    throw key_too_long(sample.key.size()).for_sample(sample.key.substr(0, 64) + "...");
  Record record;
  record.key = sample.key;
  record.parts.resize(1 + schema.fields.size());
  if (schema.has_keys) {
    record.parts[0].append_copy(as_bytes(sample.key));
    record.row.key = {
        .offset = 0, .length = sample.key.size(), .crc32c = crc32c(as_bytes(sample.key))};
    record.row.key_hash = xxh3_64(as_bytes(sample.key));
  }
  record.row.cells.resize(schema.fields.size());
  record.row.sides = sample.sides;
  ShapeWalk shapes(sample.sides);
  try {
    for (std::size_t i = 0; i < schema.fields.size(); ++i) {
      const Field& field = schema.fields[i];
      const std::span<const std::uint64_t> shape = shapes.next(field);
      const Value& value = sample.values[i];
      IndexCell& cell = record.row.cells[i];
      if (std::holds_alternative<std::monostate>(value)) {
        cell.lacks_number = !is_located(field.kind);
      } else if (field.kind == Kind::list) {
        append_list(value, cell.place, record.parts[1 + i]);
      } else if (is_located(field.kind)) {
        append_run(run_of(value), field, shape, record.parts[1 + i], cell.place);
      } else {
        append_number(value, field, record.parts[1 + i], cell);
      }
    }
  } catch (Error& error) {
    error.for_sample(sample.key);
    throw;
  }
  return record;
}

std::unique_ptr<ShardSizer> create_parquet_sizer(const Schema& schema, const OptionSet& options) {
  return std::make_unique<ParquetSizer>(ParquetMeasure(plan_of(schema, options), schema));
}

std::unique_ptr<ShardWriter> create_parquet_shard(std::span<OutputFile> files, const Schema& schema,
                                                  const OptionSet& options) {
  return std::make_unique<ParquetWriter>(files[0], schema, plan_of(schema, options));
}

std::vector<FieldPlace> walk_parquet_list(const ViewBytes& view, const FieldPlace& list) {
  const std::uint64_t end = list.offset + list.length;
  std::vector<FieldPlace> elements;
  std::uint64_t found = 0;
  for (std::uint64_t at = list.offset; at < end; ++found) {
    if (end - at < kValueLengthBytes) throw wrong_element_count(found, list.count);
    const FieldPlace element{.offset = at + kValueLengthBytes,
                             .length = ByteReader(view(at, kValueLengthBytes)).read_u32()};
    if (element.length > end - element.offset) throw element_outside(element, list);
    if (found < list.count) elements.push_back(element);
    at = element.offset + element.length;
  }
  if (found != list.count) throw wrong_element_count(found, list.count);
  return elements;
}

std::vector<Bytes> split_parquet_list(Bytes extent, std::uint32_t count) {
  const ViewBytes view = [extent](std::uint64_t offset, std::uint64_t length) {
    return extent.subspan(offset, length);
  };
  std::vector<Bytes> elements;
  for (const FieldPlace& place :
       walk_parquet_list(view, {.offset = 0, .length = extent.size(), .count = count}))
    elements.push_back(extent.subspan(place.offset, place.length));
  return elements;
}

}  // namespace shale
