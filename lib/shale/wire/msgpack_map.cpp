#include "shale/wire/msgpack_map.hpp"

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

// What stands in front of a value: its type, and the bytes or elements that follow.
struct Header {
  MsgpackType type = MsgpackType::nil;
  std::uint64_t begin = 0;     // of the value
  std::uint64_t contents = 0;  // where they begin: behind type, length and number
  std::uint64_t length = 0;    // bytes of the contents; arrays and maps: elements, entries
  std::int64_t integer = 0;
  double real = 0;

  [[nodiscard]] bool is_container() const {
    return type == MsgpackType::array || type == MsgpackType::map;
  }
  // Values that follow inside a container.
  [[nodiscard]] std::uint64_t inner_values() const {
    return type == MsgpackType::map ? 2 * length : length;
  }
};

class MapParser {
 public:
  MapParser(const ViewBytes& view, std::uint64_t end, std::string_view where)
      : view_(view), end_(end), where_(where) {}

  std::vector<MsgpackEntry> parse(std::uint64_t begin) {
    const Header map = read_header(begin);
    if (map.type != MsgpackType::map) {
      throw Error(Code::unsupported, "value is {}, not a msgpack map", name_of(map.type))
          .at(where_, begin);
    }
    if (map.length > kMaxMapEntries) {
      throw Error(Code::limit, "msgpack map of {} entries, more than the limit of {}", map.length,
                  kMaxMapEntries)
          .at(where_, begin);
    }
    std::vector<MsgpackEntry> entries;
    entries.reserve(map.length);  // at most half the bytes there are: read_header() has seen to it
    std::uint64_t at = map.contents;
    for (std::uint64_t i = 0; i < map.length; ++i) {
      MsgpackEntry& entry = entries.emplace_back();
      at = read_name(at, entry);
      at = read_value(at, entry);
    }
    if (at != end_) {
      throw Error(Code::damaged, "{} bytes are left over after a msgpack map", end_ - at)
          .at(where_, at);
    }
    return entries;
  }

 private:
  static constexpr std::uint64_t kLookAhead = 64;
  static constexpr std::size_t kIntegersKept = 64;

  // Up to `wanted` bytes at `offset`; fewer only before the end.
  Bytes peek(std::uint64_t offset, std::uint64_t wanted) {
    wanted = std::min(wanted, end_ - offset);
    if (offset < seen_begin_ || offset + wanted > seen_begin_ + seen_.size()) {
      seen_ = view_(offset, std::min(std::max(wanted, kLookAhead), end_ - offset));
      seen_begin_ = offset;
    }
    return seen_.subspan(offset - seen_begin_, wanted);
  }

  static std::uint64_t read_number(ByteReader& in, unsigned bytes) {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value = value << 8 | in.read_u8();
    return value;
  }

  Header read_header(std::uint64_t offset) {
    constexpr std::uint64_t kLongestHeader = 9;
    ByteReader in(peek(offset, kLongestHeader), where_, offset);
    const std::uint8_t tag = in.read_u8();
    Header header{.begin = offset};
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
      throw Error(Code::damaged, "msgpack value claims {} bytes or more, but only {} are left",
                  least, end_ - header.contents)
          .at(where_, offset);
    }
    return header;
  }

  // The types from c0 to df. What follows the tag: a length, or a number.
  void read_tagged(std::uint8_t tag, ByteReader& in, Header& header) {
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

  // cc..cf unsigned, d0..d3 signed, of 1, 2, 4 and 8 bytes.
  static void read_integer(std::uint8_t tag, std::uint64_t value, Header& header) {
    const unsigned unused_bits = 64 - (8U << (tag & 3));
    header.type = MsgpackType::integer;
    header.integer = static_cast<std::int64_t>(value);
    if (tag >= 0xd0) {
      header.integer = static_cast<std::int64_t>(value << unused_bits) >> unused_bits;
    } else if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      header.type = MsgpackType::large_integer;
    }
  }

  std::uint64_t read_name(std::uint64_t offset, MsgpackEntry& entry) {
    const Header header = read_header(offset);
    if (header.type != MsgpackType::text && header.type != MsgpackType::bytes) {
      throw Error(Code::unsupported, "a name in a msgpack map is {}, not a string",
                  name_of(header.type))
          .at(where_, offset);
    }
    names_bytes_ += header.length;
    if (header.length > kMaxMapNameBytes || names_bytes_ > kMaxMapNamesBytes) {
      throw Error(Code::limit, "names of {} bytes in a msgpack map, more than the limit of {}",
                  names_bytes_,
                  header.length > kMaxMapNameBytes ? kMaxMapNameBytes : kMaxMapNamesBytes)
          .at(where_, offset);
    }
    if (header.length > 0) entry.name = as_text(peek(header.contents, header.length));
    return header.contents + header.length;
  }

  // Fills in the entry. Returns where the value ends.
  std::uint64_t read_value(std::uint64_t offset, MsgpackEntry& entry) {
    const Header header = read_header(offset);
    entry.type = header.type;
    entry.integer = header.integer;
    entry.real = header.real;
    entry.value_offset = offset;
    entry.offset = entry.is_run() ? header.contents : offset;
    std::uint64_t end = header.contents + header.length;
    if (header.is_container()) {
      entry.count = static_cast<std::uint32_t>(header.length);
      end = header.type == MsgpackType::map ? skip_inside(header, 1) : read_array(header, entry);
    }
    entry.length = end - entry.offset;
    return end;
  }

  std::uint64_t read_array(const Header& array, MsgpackEntry& entry) {
    std::uint64_t at = array.contents;
    for (std::uint64_t i = 0; i < array.length; ++i) {
      const Header element = read_header(at);
      entry.element_types |= bit_of(element.type);
      if (element.type == MsgpackType::integer && entry.integers.size() < kIntegersKept) {
        entry.integers.push_back(element.integer);
      }
      at = end_of(element, 1);
    }
    return at;
  }

  std::uint64_t end_of(const Header& header, std::size_t depth) {
    return header.is_container() ? skip_inside(header, depth + 1) : header.contents + header.length;
  }

  // Where a container at this depth ends. A stack of counts, so that no nesting costs frames.
  std::uint64_t skip_inside(const Header& outer, std::size_t depth) {
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
      const Header inner = read_header(at);
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

  const ViewBytes& view_;
  std::uint64_t end_;
  std::string_view where_;
  std::uint64_t names_bytes_ = 0;
  Bytes seen_;  // what view_ gave last
  std::uint64_t seen_begin_ = 0;
};

}  // namespace

std::string_view name_of(MsgpackType type) { return kTypeNames[static_cast<std::size_t>(type)]; }

bool MsgpackEntry::is_run() const {
  return type == MsgpackType::text || type == MsgpackType::bytes;
}

bool MsgpackEntry::is_array_of(std::uint32_t types) const {
  return type == MsgpackType::array && (element_types & ~types) == 0;
}

std::vector<MsgpackEntry> parse_msgpack_map(const ViewBytes& view, std::uint64_t begin,
                                            std::uint64_t length, std::string_view where) {
  return MapParser(view, begin + length, where).parse(begin);
}

}  // namespace shale
