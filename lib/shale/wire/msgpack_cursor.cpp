#include "shale/wire/msgpack_cursor.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "shale/base/error.hpp"

namespace shale {
namespace {

constexpr std::string_view kTypeNames[] = {
    "nil",     "a boolean",   "an integer", "an integer above 2^63 - 1",
    "a float", "a string",    "bytes",      "an array",
    "a map",   "an extension"};

constexpr std::uint64_t kLookAhead = 64;

std::uint64_t read_number(ByteReader& in, unsigned bytes) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < bytes; ++i) value = value << 8 | in.read_u8();
  return value;
}

// cc..cf unsigned, d0..d3 signed, of 1, 2, 4 and 8 bytes.
void read_integer(std::uint8_t tag, std::uint64_t value, MsgpackHeader& header) {
  const unsigned unused_bits = 64 - (8U << (tag & 3));
  header.type = MsgpackType::integer;
  header.integer = static_cast<std::int64_t>(value);
  if (tag >= 0xd0) {
    header.integer = static_cast<std::int64_t>(value << unused_bits) >> unused_bits;
  } else if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    header.type = MsgpackType::large_integer;
  }
}

}  // namespace

std::string_view name_of(MsgpackType type) { return kTypeNames[static_cast<std::size_t>(type)]; }

Bytes MsgpackCursor::peek(std::uint64_t offset, std::uint64_t wanted) {
  wanted = std::min(wanted, end_ - offset);
  if (offset < seen_begin_ || offset + wanted > seen_begin_ + seen_.size()) {
    seen_ = view_(offset, std::min(std::max(wanted, kLookAhead), end_ - offset));
    seen_begin_ = offset;
  }
  return seen_.subspan(offset - seen_begin_, wanted);
}

MsgpackHeader MsgpackCursor::read(std::uint64_t offset) {
  constexpr std::uint64_t kLongestHeader = 9;
  ByteReader in(peek(offset, kLongestHeader), where_, offset);
  const std::uint8_t tag = in.read_u8();
  MsgpackHeader header{.begin = offset};
  if (tag >= 0xc0 && tag <= 0xdf) {
    read_tagged(tag, in, header);
  } else if (tag < 0x80 || tag >= 0xe0) {
    header.type = MsgpackType::integer;
    header.integer = tag < 0x80 ? tag : tag - 0x100;
  } else {
    header.type = tag < 0x90   ? MsgpackType::map
                  : tag < 0xa0 ? MsgpackType::array
                               : MsgpackType::text;
    header.length = tag & (tag < 0xa0 ? 0x0f : 0x1f);
  }
  header.contents = in.offset();
  // Each inner value takes a byte at least: lengths and counts are checked before anything hangs
  // on them.
  const std::uint64_t least = header.is_container() ? header.inner_values() : header.length;
  if (least > end_ - header.contents) {
    throw Error(Code::damaged, "msgpack value claims {} bytes or more, but only {} are left", least,
                end_ - header.contents)
        .at(where_, offset);
  }
  return header;
}

// The types from c0 to df. What follows the tag: a length, or a number.
void MsgpackCursor::read_tagged(std::uint8_t tag, ByteReader& in, MsgpackHeader& header) {
  const unsigned step = tag & 3;
  switch (tag) {
    case 0xc0:
      return;
    case 0xc2:
    case 0xc3:
      header.type = MsgpackType::boolean;
      header.integer = tag & 1;
      return;
    case 0xc4:
    case 0xc5:
    case 0xc6:
      header.type = MsgpackType::bytes;
      header.length = read_number(in, 1U << step);
      return;
    case 0xc7:
    case 0xc8:
    case 0xc9:
      header.type = MsgpackType::extension;
      header.length = read_number(in, 1U << (tag - 0xc7)) + 1;  // and its type
      return;
    case 0xca:
      header.type = MsgpackType::real;
      header.real = std::bit_cast<float>(static_cast<std::uint32_t>(read_number(in, 4)));
      return;
    case 0xcb:
      header.type = MsgpackType::real;
      header.real = std::bit_cast<double>(read_number(in, 8));
      return;
    case 0xd9:
    case 0xda:
    case 0xdb:
      header.type = MsgpackType::text;
      header.length = read_number(in, 1U << (tag - 0xd9));
      return;
    case 0xdc:
    case 0xdd:
    case 0xde:
    case 0xdf:
      header.type = tag < 0xde ? MsgpackType::array : MsgpackType::map;
      header.length = read_number(in, (tag & 1) == 0 ? 2 : 4);
      return;
    case 0xc1:
      throw Error(Code::damaged, "msgpack value begins with 0xc1, which is never used")
          .at(where_, header.begin);
    default:
      break;
  }
  if (tag >= 0xd4) {
    header.type = MsgpackType::extension;
    header.length = (1U << (tag - 0xd4)) + 1;
    return;
  }
  read_integer(tag, read_number(in, 1U << step), header);
}

std::uint64_t MsgpackCursor::end_of(const MsgpackHeader& header, std::size_t depth) {
  return header.is_container() ? skip_inside(header, depth + 1) : header.contents + header.length;
}

// Where a container at this depth ends. A stack of counts, so that no nesting costs frames.
std::uint64_t MsgpackCursor::skip_inside(const MsgpackHeader& outer, std::size_t depth) {
  std::array<std::uint64_t, kMaxMsgpackDepth> left{};  // values, by depth
  std::uint64_t at = outer.contents;
  const std::size_t outermost = depth;
  left[depth] = outer.inner_values();
  while (depth >= outermost) {
    if (left[depth] == 0) {
      --depth;
      continue;
    }
    --left[depth];
    const MsgpackHeader inner = read(at);
    at = inner.contents;
    if (!inner.is_container()) {
      at += inner.length;
      continue;
    }
    if (++depth == kMaxMsgpackDepth) {
      throw Error(Code::limit, "msgpack values are nested more than {} deep", kMaxMsgpackDepth)
          .at(where_, inner.begin);
    }
    left[depth] = inner.inner_values();
  }
  return at;
}

}  // namespace shale
