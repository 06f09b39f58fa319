#include "shale/wire/protobuf_cursor.hpp"

#include <algorithm>

#include "shale/base/error.hpp"

namespace shale {

// Views end with the next one, so all go through here: what is held on to is the last.
void ProtobufCursor::see(std::uint64_t begin, std::uint64_t end) {
  if (begin >= seen_begin_ && end <= seen_begin_ + seen_.size()) return;
  seen_ = view_(begin, std::min(std::max(end - begin, kLookAhead), end_ - begin));
  seen_begin_ = begin;
}

// Up to 10 bytes, a varint's longest, at `offset`; fewer only before `end`.
Bytes ProtobufCursor::peek(std::uint64_t offset, std::uint64_t end) {
  const std::uint64_t wanted = std::min<std::uint64_t>(10, end - offset);
  see(offset, offset + wanted);
  return seen_.subspan(offset - seen_begin_, wanted);
}

Bytes ProtobufCursor::bytes_of(const WireField& field) {
  if (field.bytes() == 0) return {};
  see(field.begin, field.end);
  return seen_.subspan(field.begin - seen_begin_, field.bytes());
}

ProtobufCursor::Varint ProtobufCursor::read_varint(std::uint64_t offset, std::uint64_t end) {
  ByteReader in(peek(offset, end), where_, offset);
  const std::uint64_t value = in.read_varint();
  return {value, in.offset()};
}

WireField ProtobufCursor::read_field(std::uint64_t offset, std::uint64_t end) {
  const Varint tag = read_varint(offset, end);
  WireField field{.number = tag.value >> 3,
                  .type = static_cast<WireType>(tag.value & 7),
                  .offset = offset,
                  .begin = tag.end};
  if (field.number == 0 || tag.value > 0xffff'ffff) {
    throw Error(Code::damaged, "protobuf tag {} has no field number", tag.value).at(where_, offset);
  }
  std::uint64_t length = 0;
  switch (field.type) {
    case WireType::varint:
      field.end = read_varint(tag.end, end).end;
      return field;
    case WireType::fixed64:
      length = 8;
      break;
    case WireType::fixed32:
      length = 4;
      break;
    case WireType::delimited: {
      const Varint prefix = read_varint(tag.end, end);
      length = prefix.value;
      field.begin = prefix.end;
      break;
    }
    default:
      throw Error(Code::damaged, "protobuf wire type {} of field {} is undefined", tag.value & 7,
                  field.number)
          .at(where_, offset);
  }
  if (length > end - field.begin) {
    throw Error(Code::damaged, "protobuf field of {} bytes, {} left in its message", length,
                end - field.begin)
        .at(where_, offset);
  }
  field.end = field.begin + length;
  return field;
}

}  // namespace shale
