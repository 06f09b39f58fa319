#include "shale/wire/msgpack_map.hpp"

#include "shale/base/error.hpp"

namespace shale {
namespace {

class MapParser {
 public:
  MapParser(const ViewBytes& view, std::uint64_t end, std::string_view where)
      : cursor_(view, end, where), end_(end), where_(where) {}

  std::vector<MsgpackEntry> parse(std::uint64_t begin) {
    const MsgpackHeader map = cursor_.read(begin);
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
    entries.reserve(map.length);  // at most half the bytes there are: cursor_.read() has seen to it
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
  static constexpr std::size_t kIntegersKept = 64;

  std::uint64_t read_name(std::uint64_t offset, MsgpackEntry& entry) {
    const MsgpackHeader header = cursor_.read(offset);
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
    if (header.length > 0) entry.name = as_text(cursor_.peek(header.contents, header.length));
    return header.contents + header.length;
  }

  // Fills in the entry. Returns where the value ends.
  std::uint64_t read_value(std::uint64_t offset, MsgpackEntry& entry) {
    const MsgpackHeader header = cursor_.read(offset);
    entry.type = header.type;
    entry.integer = header.integer;
    entry.real = header.real;
    entry.value_offset = offset;
    entry.offset = entry.is_run() ? header.contents : offset;
    std::uint64_t end = header.contents + header.length;
    if (header.is_container()) {
      entry.count = static_cast<std::uint32_t>(header.length);
      end = header.type == MsgpackType::map ? cursor_.end_of(header) : read_array(header, entry);
    }
    entry.length = end - entry.offset;
    return end;
  }

  std::uint64_t read_array(const MsgpackHeader& array, MsgpackEntry& entry) {
    std::uint64_t at = array.contents;
    for (std::uint64_t i = 0; i < array.length; ++i) {
      const MsgpackHeader element = cursor_.read(at);
      entry.element_types |= bit_of(element.type);
      if (element.type == MsgpackType::integer && entry.integers.size() < kIntegersKept) {
        entry.integers.push_back(element.integer);
      }
      at = cursor_.end_of(element, 1);
    }
    return at;
  }

  MsgpackCursor cursor_;
  std::uint64_t end_;
  std::string_view where_;
  std::uint64_t names_bytes_ = 0;
};

}  // namespace

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
