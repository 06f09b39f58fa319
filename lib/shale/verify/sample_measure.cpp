#include "shale/verify/sample_measure.hpp"

#include <bit>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "shale/base/bytes.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/shard_index.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostListedElements = 4096;

template <class Number>
void append(std::string& measure, Number number) {
  measure.append(as_text(bytes_of(number)));
}

struct MeasuredElement {
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;
  friend bool operator==(const MeasuredElement&, const MeasuredElement&) = default;
};

// A field as a measure has it.
struct MeasuredField {
  bool is_there = false;
  std::uint64_t bytes_or_number = 0;
  std::uint32_t crc = 0, count = 0;
  std::vector<std::uint64_t> shape = {};
  friend bool operator==(const MeasuredField&, const MeasuredField&) = default;
};

MeasuredField read_field(ByteReader& in, const Field& field) {
  MeasuredField read{.is_there = in.read_u8() != 0, .bytes_or_number = in.read_u64()};
  if (!is_located(field.kind)) return read;
  read.crc = in.read_u32();
  read.count = in.read_u32();
  for (std::size_t axis = 0; field.is_ragged() && axis < field.shape.size(); ++axis)
    read.shape.push_back(in.read_u64());
  return read;
}

// "frames" are what a list of that name has.
std::string elements_text(const Field& field, std::uint64_t count) {
  return field.name == "frames" ? format_counted(count, "frame", "frames")
                                : format_counted(count, "element", "elements");
}

std::string value_text(const Field& field, const MeasuredField& value) {
  if (!value.is_there) return "absent";
  if (field.kind == Kind::integer)
    return std::to_string(std::bit_cast<std::int64_t>(value.bytes_or_number));
  if (field.kind == Kind::real)
    return fmt::format("{}", std::bit_cast<double>(value.bytes_or_number));
  if (field.kind == Kind::list) return elements_text(field, value.count);
  return fmt::format("{} bytes", value.bytes_or_number);
}

// They are not the same.
MeasuredDifference difference_of_fields(const Field& field, const MeasuredField& found,
                                        const MeasuredField& expected, std::string_view source) {
  MeasuredDifference differs;
  if (!is_located(field.kind) || found.is_there != expected.is_there) {
    differs.message = "value differs from the source";
    differs.found = value_text(field, found);
    differs.expected = value_text(field, expected);
    return differs;
  }
  if (found.count != expected.count) {
    differs.message = fmt::format("sample has another number of {} than the source",
                                  field.name == "frames" ? "frames" : "elements");
    differs.found = std::to_string(found.count);
    differs.expected = std::to_string(expected.count);
    return differs;
  }
  const bool is_list = field.kind == Kind::list;
  const bool is_other_size = !is_list && found.bytes_or_number != expected.bytes_or_number;
  const bool is_other_shape = found.shape != expected.shape;
  differs.message = fmt::format("sample differs {}from {}",
                                is_other_shape  ? "in shape "
                                : is_other_size ? "in size "
                                                : "",
                                source);
  if (is_other_shape) {
    differs.found = shape_text(found.shape);
    differs.expected = shape_text(expected.shape);
  } else if (is_other_size) {
    differs.found = value_text(field, found);
    differs.expected = std::to_string(expected.bytes_or_number);
  } else if (!is_list) {
    differs.found = fmt::format("crc32c 0x{:08x}", found.crc);
    differs.expected = fmt::format("0x{:08x}", expected.crc);
  }
  return differs;
}

MeasuredElement read_element(ByteReader& in) {
  const std::uint64_t bytes = in.read_u64();
  return {.bytes = bytes, .crc = in.read_u32()};
}

// Which elements of all lists are those of the one that differs.
struct MeasuredList {
  std::uint64_t first = 0, count = 0;
};

// Of its elements the first that differs, in words; both readers stand before those of all lists.
// Empty: they are too many to be known.
std::string difference_of_elements(ByteReader& found, ByteReader& expected, const Field& field,
                                   const MeasuredList& list, std::string_view source) {
  for (std::uint64_t i = 0; i < list.first + list.count; ++i) {
    if (found.at_end() || expected.at_end()) return {};
    const MeasuredElement ours = read_element(found), theirs = read_element(expected);
    if (ours == theirs || i < list.first) continue;
    return fmt::format("{} {} differs {}from {}", field.name == "frames" ? "frame" : "element",
                       i - list.first, ours.bytes == theirs.bytes ? "" : "in size ", source);
  }
  return {};
}

}  // namespace

std::string measure_of(const Record& record, const Schema& schema) {
  std::string measure(as_text(record.digest.content.bytes()));
  ShapeWalk shapes(record.row.sides);
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    const IndexCell& cell = record.row.cells[i];
    const auto shape = shapes.next(field);
    append(measure, std::uint8_t{!is_absent(cell, field)});
    if (!is_located(field.kind)) {
      measure.append(
          as_text(field.kind == Kind::real ? bytes_of(cell.real) : bytes_of(cell.integer)));
      continue;
    }
    append(measure, cell.place.length);
    append(measure, cell.place.crc32c);
    append(measure, cell.place.count);
    if (field.is_ragged()) {
      for (const std::uint64_t side : shape) append(measure, side);
    }
  }
  if (record.row.elements.size() > kMostListedElements) return measure;
  for (const FieldPlace& element : record.row.elements) {
    append(measure, element.length);
    append(measure, element.crc32c);
  }
  return measure;
}

std::optional<MeasuredDifference> difference_of(std::string_view found, std::string_view expected,
                                                const Schema& schema, std::string_view source) {
  ByteReader ours(as_bytes(found.substr(kMeasuredHashBytes)));
  ByteReader theirs(as_bytes(expected.substr(kMeasuredHashBytes)));
  std::optional<MeasuredDifference> first;
  MeasuredList list;
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    const MeasuredField one = read_field(ours, field), other = read_field(theirs, field);
    if (first) continue;
    if (one == other) {
      list.first += one.count;
      continue;
    }
    first = difference_of_fields(field, one, other, source);
    first->field = i;
    list.count = one.count == other.count ? one.count : 0;
  }
  if (!first) return first;
  const std::string element =
      difference_of_elements(ours, theirs, schema.fields[first->field], list, source);
  if (!element.empty()) first->message = element;
  return first;
}

}  // namespace shale
