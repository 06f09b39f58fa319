#include "shale/layouts/float_datum.hpp"

#include <array>
#include <cstdint>

#include "shale/base/error.hpp"
#include "shale/base/view_bytes.hpp"
#include "shale/layouts/msgpack_text.hpp"
#include "shale/wire/protobuf_cursor.hpp"

namespace shale::layouts {
namespace {

constexpr std::uint32_t kLabelNumber = 5, kFloats = 6;  // behind channels, height, width and data

struct FloatDatum {
  std::array<std::uint64_t, 3> sides = {};
  std::int64_t label = 0;
  std::string numbers;
};

Error not_float_datum(std::string_view why) {
  return Error(Code::unsupported, "is not a Datum with float_data: {}", why);
}

FloatDatum parse_float_datum(Bytes value) {
  const ViewBytes view = [value](std::uint64_t offset, std::uint64_t length) {
    return value.subspan(offset, length);
  };
  FloatDatum datum;
  ProtobufCursor cursor(view, value.size(), {});
  cursor.for_each_field(0, value.size(), [&](const WireField& field) {
    const bool is_number = field.type == WireType::varint;
    if (field.number == kFloats && !is_number) {
      datum.numbers += as_text(value.subspan(field.begin, field.bytes()));
    } else if (field.number <= datum.sides.size() && field.number > 0 && is_number) {
      datum.sides[field.number - 1] = cursor.read_varint(field.begin, field.end).value;
    } else if (field.number == kLabelNumber && is_number) {
      const std::uint64_t number = cursor.read_varint(field.begin, field.end).value;
      datum.label = static_cast<std::int32_t>(static_cast<std::uint32_t>(number));
    } else {
      throw not_float_datum("it has other fields");
    }
  });
  return datum;
}

}  // namespace

bool begins_like_float_datum(Bytes head) {
  std::size_t at = 0;
  const auto skip_varint = [&](std::uint8_t tag) {
    if (at >= head.size() || std::to_integer<std::uint8_t>(head[at]) != tag) return false;
    do {
      ++at;
    } while (at < head.size() && (std::to_integer<std::uint8_t>(head[at]) & 0x80U) != 0);
    ++at;
    return at < head.size();
  };
  for (const std::uint8_t side : std::array<std::uint8_t, 3>{0x08, 0x10, 0x18}) {
    if (!skip_varint(side)) return false;
  }
  (void)skip_varint(0x28);  // the label
  if (at >= head.size()) return false;
  const auto tag = std::to_integer<std::uint8_t>(head[at]);
  return tag == 0x35 || tag == 0x32;  // one number, or all of them packed
}

std::string pack_float_datum(Bytes value) {
  const FloatDatum datum = parse_float_datum(value);
  std::uint64_t left = datum.numbers.size();
  for (const std::uint64_t side : datum.sides)
    left = side > 0 && left % side == 0 ? left / side : 0;
  if (left != sizeof(float)) throw not_float_datum("it has other numbers than its sides say");
  std::string map;
  append_map(2, map);
  append_text("image", map);
  append_numpy("<f4", datum.sides, datum.numbers, map);
  append_text("label", map);
  append_integer(datum.label, map);
  return map;
}

}  // namespace shale::layouts
