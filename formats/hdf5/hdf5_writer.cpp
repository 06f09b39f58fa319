#include "formats/hdf5/hdf5_writer.hpp"

#include <array>
#include <utility>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/data/fixed_value.hpp"

#include "formats/hdf5/hdf5_columns.hpp"
#include "formats/hdf5/hdf5_spill.hpp"

namespace shale {
namespace {

class Hdf5Sizer final : public ShardSizer {
 public:
  explicit Hdf5Sizer(const Schema& schema)
      : plan_(plan_columns(schema)), part_bytes_(plan_.parts) {}

  [[nodiscard]] std::vector<std::uint64_t> size_with(std::span<const std::uint64_t> part_bytes,
                                                     std::uint64_t samples) const override {
    return {place_columns(plan_, samples_ + samples, sums_with(part_bytes)).back().offset};
  }

  void add(std::span<const std::uint64_t> part_bytes, std::uint64_t samples) override {
    part_bytes_ = sums_with(part_bytes);
    samples_ += samples;
  }

 private:
  [[nodiscard]] std::vector<std::uint64_t> sums_with(
      std::span<const std::uint64_t> part_bytes) const {
    if (part_bytes.size() != part_bytes_.size()) {
      throw Error(Code::bug, "a record of {} parts cannot be counted; its HDF5 shard has {}",
                  part_bytes.size(), part_bytes_.size());
    }
    std::vector<std::uint64_t> sums = part_bytes_;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += part_bytes[i];
    return sums;
  }

  Hdf5Plan plan_;
  std::vector<std::uint64_t> part_bytes_;
  std::uint64_t samples_ = 0;
};

class Hdf5ShardWriter final : public ShardWriter {
 public:
  Hdf5ShardWriter(OutputFile& file, const Schema& schema)
      : file_(file),
        plan_(plan_columns(schema)),
        spill_(folder_of_file(file.path()), plan_.columns.size()),
        part_bytes_(plan_.parts),
        offsets_(part_bytes_.size()) {
    for (std::uint32_t part = 0; part < part_bytes_.size(); ++part) {
      const std::optional<std::size_t> ends = plan_.offsets_of(part);
      const std::size_t values = plan_.values_of(part);
      parts_.push_back({.values = values, .ends = ends});
      if (ends) spill_.append(*ends, bytes_of(std::uint64_t{0}));
      if (plan_.columns[values].role == Hdf5Column::Role::elements)
        spill_.append(values, bytes_of(std::uint64_t{0}));
    }
    for (std::uint32_t part = 0; part < part_bytes_.size(); ++part) {
      if (const auto elements = plan_.beside(part, Hdf5Column::Role::elements))
        parts_[*elements].list = part;
    }
    file_.append_zeros(plan_.head_bytes);
  }

  std::span<const std::uint64_t> append(const Record& record) override {
    if (is_closed_)
      throw Error(Code::bug, "record appended to a closed HDF5 shard").at(file_.path());
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      offsets_[part] = part_bytes_[part];
      part_bytes_[part] += record.parts[part].size();
    }
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      const Part& columns = parts_[part];
      const std::uint64_t unit = plan_.columns[columns.values].dtype.item_bytes();
      if (columns.list) {
        append_element_ends(record.parts[part], columns.values, offsets_[*columns.list]);
      } else {
        append_values(record.parts[part], columns.values);
      }
      if (columns.ends) spill_.append(*columns.ends, bytes_of(part_bytes_[part] / unit));
    }
    if (plan_.rows.takes_runs()) {
      samples_ += record.digest.samples;
      return {};
    }
    ++samples_;
    return offsets_;
  }

  void name_labels(const LabelNames& names) override { names_ = names; }

  ClosedShard close() override {
    is_closed_ = true;
    const std::vector<ColumnExtent> extents = place_columns(plan_, samples_, part_bytes_);
    for (std::size_t i = 0; i < plan_.columns.size(); ++i) {
      if (i == plan_.streamed || extents[i].length == 0) continue;
      file_.append_zeros(extents[i].offset - file_.size());
      spill_.read(i, [&](Bytes piece) { file_.append(piece); });
    }
    if (file_.size() != extents.back().offset) {
      throw Error(Code::bug, "the columns end at byte {}, but {} was planned", file_.size(),
                  extents.back().offset)
          .at(file_.path());
    }
    const ShardMetadata metadata = shard_metadata(plan_, samples_, part_bytes_, names_);
    file_.append(metadata.tail);
    file_.patch(0, metadata.head);
    ClosedShard closed;
    for (const Part& columns : parts_) closed.part_bases.push_back(extents[columns.values].offset);
    return closed;
  }

 private:
  struct Part {
    std::size_t values;                                // its column
    std::optional<std::size_t> ends;                   // and that of its offsets
    std::optional<std::uint32_t> list = std::nullopt;  // the part whose elements end here
  };

  void append_values(const Blob& part, std::size_t column) {
    part.for_each_piece([&](Bytes piece) {
      if (column == plan_.streamed) {
        file_.append(piece);
      } else {
        spill_.append(column, piece);
      }
    });
  }

  // `begin`: of the list among all elements.
  void append_element_ends(const Blob& part, std::size_t column, std::uint64_t begin) {
    part.for_each_piece([&](Bytes piece) {
      ByteReader ends(piece);
      while (!ends.at_end()) spill_.append(column, bytes_of(begin + ends.read_u64()));
    });
  }

  OutputFile& file_;
  Hdf5Plan plan_;
  ColumnSpill spill_;
  std::vector<Part> parts_;
  std::vector<std::uint64_t> part_bytes_, offsets_;
  std::uint64_t samples_ = 0;
  LabelNames names_;
  bool is_closed_ = false;
};

void append_number(const Value& number, const Field& field, Blob& part, IndexCell& cell) {
  std::array<std::byte, sizeof(std::int64_t)> bytes;
  const std::span<std::byte> stored = std::span(bytes).first(dtype_of_column(field).item_bytes());
  write_number(number, field, stored);
  part.append_copy(stored);
  if (field.kind == Kind::integer) {
    cell.integer = std::get<std::int64_t>(number);
  } else {
    cell.real = std::get<double>(number);
  }
}

// Appends the elements to `part`, and where each ends to `ends`.
void append_list(const Value& list, IndexRow& row, FieldPlace& place, Blob& part, Blob& ends) {
  const std::uint64_t count = count_elements(list);
  check_elements(count);
  ByteWriter numbers;
  place = {.offset = 0, .count = static_cast<std::uint32_t>(count)};
  for (std::uint64_t i = 0; i < count; ++i) {
    const AnyBytes element = element_of(list, i);
    row.elements.push_back({.offset = place.length, .length = element.size()});
    part.append(element);
    place.length += element.size();
    place.crc32c = element.unread() == nullptr
                       ? crc32c(element.held(), place.crc32c)
                       : crc32c_combine(place.crc32c, element.crc32c(), element.size());
    numbers.write(place.length);
  }
  ends.append_copy(numbers.bytes());
}

// What stands for a value that is absent, so that the rows of its column stay rows.
void append_absent(const Field& field, Blob& part) {
  static constexpr std::array<std::byte, 64 * 1024> kZeros{};
  if (is_located(field.kind) && (field.kind != Kind::tensor || field.is_ragged())) return;
  std::uint64_t left =
      field.kind == Kind::tensor ? field.tensor_bytes() : dtype_of_column(field).item_bytes();
  for (; left > kZeros.size(); left -= kZeros.size()) part.append_view(kZeros);
  part.append_view(Bytes(kZeros).first(left));
}

// A number is in the index as well.
Record encode_with_key(const Sample& sample, const Schema& schema) {
  Record record;
  record.key = sample.key;
  record.parts.resize(1 + schema.fields.size());
  record.parts.reserve(1 + 3 * schema.fields.size());  // references stay
  record.parts[0].append_copy(as_bytes(sample.key));
  record.row.key = {
      .offset = 0, .length = sample.key.size(), .crc32c = crc32c(as_bytes(sample.key))};
  record.row.key_hash = xxh3_64(as_bytes(sample.key));
  record.row.cells.resize(schema.fields.size());
  record.row.sides = sample.sides;
  ShapeWalk shapes(sample.sides);
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    const Value& value = sample.values[i];
    IndexCell& cell = record.row.cells[i];
    Blob& part = record.parts[1 + i];
    const std::span<const std::uint64_t> shape = shapes.next(field);
    const bool is_absent = std::holds_alternative<std::monostate>(value);
    Blob* const ends = field.kind == Kind::list ? &record.parts.emplace_back() : nullptr;
    if (is_absent) {
      append_absent(field, part);
      cell.lacks_number = !is_located(field.kind);
    } else if (ends != nullptr) {
      append_list(value, record.row, cell.place, part, *ends);
    } else if (is_located(field.kind)) {
      const AnyBytes bytes = run_of(value);
      part.append(bytes);
      cell.place = {.offset = 0, .length = bytes.size(), .crc32c = bytes.crc32c()};
    } else {
      append_number(value, field, part, cell);
    }
    if (has_shapes(field)) record.parts.emplace_back().append_copy(std::as_bytes(shape));
    if (field.is_optional)
      record.parts.emplace_back().append_copy(bytes_of(std::uint8_t{!is_absent}));
  }
  return record;
}

}  // namespace

Record encode_hdf5(const Sample& sample, const Schema& schema, const OptionSet&) {
  if (hdf5_row_storage(schema).has_strides()) return encode_fixed_row(sample, schema);
  if (sample.key.size() > kMaxKeyBytes) {
    throw Error(Code::limit, "key of {} bytes; HDF5 shards hold keys of at most {}",
                sample.key.size(), kMaxKeyBytes)
        .for_sample(sample.key.substr(0, 64) + "...");
  }
  try {
    return encode_with_key(sample, schema);
  } catch (Error& error) {
    error.for_sample(sample.key);
    throw;
  }
}

std::unique_ptr<ShardSizer> create_hdf5_sizer(const Schema& schema, const OptionSet&) {
  return std::make_unique<Hdf5Sizer>(schema);
}

std::unique_ptr<ShardWriter> create_hdf5_shard(std::span<OutputFile> files, const Schema& schema,
                                               const OptionSet&) {
  return std::make_unique<Hdf5ShardWriter>(files[0], schema);
}

}  // namespace shale
