#include "shale/columns/own_records.hpp"

#include <array>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/columns/own_columns.hpp"
#include "shale/data/fixed_value.hpp"

namespace shale {
namespace {

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
  if (sample.key.size() > kMaxKeyBytes)
    throw key_too_long(sample.key.size()).for_sample(sample.key.substr(0, 64) + "...");
  try {
    return encode_with_key(sample, schema);
  } catch (Error& error) {
    error.for_sample(sample.key);
    throw;
  }
}

}  // namespace shale
