#include "shale/trees/hdf5_old_file.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "shale/base/error.hpp"

//  All numbers are little-endian; addresses and lengths have 8 bytes.
//
//  superblock, version 0 (1: 4 bytes more from +24 on)
//  +0   "\x89HDF\r\n\x1a\n"   +8 u8 version   +13 u8 bytes of an address: 8   +14 u8 of a length: 8
//  +24  u64 base address: 0   +64 u64 address of the root group's object header
//
//  object header, version 1
//  +0   u8 version 1   +2 u16 messages   +8 u32 bytes of the messages   +16 the messages
//  message: u16 type, u16 bytes, u8 flags, 3 bytes, the body; 0x10 continuation: u64 address, u64
//  bytes of further messages
//  0x01 dataspace     version 1: u8 version, u8 axes, 6 bytes, u64 a side
//                     version 2: u8 version, u8 axes, u8 flags, u8 type (2: null), u64 a side
//  0x03 datatype      hdf5_types.cpp
//  0x08 layout        u8 version 3 or 4, u8 class; 0 compact: u16 bytes, the values; 1 contiguous:
//                     u64 address, u64 bytes
//  0x0c attribute     u8 version 1 to 3, u8 flags, u16 bytes of name, datatype, dataspace, [3: u8
//                     characters], these three (1: each padded to a multiple of 8), the value
//  0x11 symbol table  u64 address of a tree, u64 of a local heap
//
//  local heap: "HEAP", 4 bytes, u64 bytes of its names, u64 free, u64 address of the names
//  tree:       "TREE", u8 type 0, u8 level, u16 entries, u64 left, u64 right; u64 key, u64 address
//              of an entry: a tree of the level below, at level 0 a node of symbols
//  node:       "SNOD", u8 version 1, u8, u16 symbols; each: u64 offset of its name among the names,
//              u64 object header, u32 kind (2: a soft link), 20 bytes
//  Source: HDF5 File Format Specification 3.0, II.A, III.A.1, III.B, III.C, III.D, IV.A.1.a.

namespace shale {
namespace {

constexpr std::uint64_t kWindowBytes = 8192, kNowhere = ~std::uint64_t{0};
constexpr std::uint64_t kMostHeaderBytes = 1 << 20, kMostNameBytes = 65'536;

Error other_form(std::string_view what) {
  return Error(Code::unsupported, "{} that only the HDF5 library reads", what);
}

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) / 8 * 8; }

std::vector<std::byte> copy_of(Bytes bytes) { return {bytes.begin(), bytes.end()}; }

std::vector<std::uint64_t> sides_in(ByteReader in) {
  const std::uint8_t version = in.read_u8(), axes = in.read_u8();
  in.skip(1);
  const std::uint8_t type = in.read_u8();
  if ((version != 1 && version != 2) || (version == 2 && type > 1)) throw other_form("a dataspace");
  if (version == 1) in.skip(4);
  std::vector<std::uint64_t> sides(axes);
  for (std::uint64_t& side : sides) side = in.read_u64();
  return sides;
}

}  // namespace

Hdf5OldFile::Hdf5OldFile(const InputFile& file) : file_(file), window_(file, kWindowBytes) {
  constexpr std::uint64_t kSuperblock = 96;
  ByteReader in = read(0, kSuperblock);
  const bool is_hdf5 = as_text(in.read_bytes(8)) == "\x89HDF\r\n\x1a\n";
  const std::uint8_t version = in.read_u8();
  in.skip(4);
  const bool has_eights = in.read_u16() == 0x0808;
  in.skip(version == 0 ? 9 : 13);
  if (!is_hdf5 || version > 1 || !has_eights || in.read_u64() != 0)
    throw other_form("a superblock");
  in.skip(32);
  root_ = in.read_u64();
}

// Hostile files lead in circles; in others no byte of groups and headers is needed twice.
void Hdf5OldFile::count(std::uint64_t bytes) {
  constexpr std::uint64_t kSpare = 64 * 1024;
  counted_ += bytes;
  if (counted_ > file_.size() + kSpare)
    throw Error(Code::damaged, "groups lead to more objects than the file has room for");
}

Bytes Hdf5OldFile::view(std::uint64_t offset, std::uint64_t length) {
  if (offset > file_.size() || length > file_.size() - offset) {
    throw Error(Code::damaged, "{} bytes, but the file ends at {}", length, file_.size())
        .at(file_.path(), offset);
  }
  return window_.view(offset, length);
}

ByteReader Hdf5OldFile::read(std::uint64_t offset, std::uint64_t length) {
  return ByteReader(view(offset, length), file_.path(), offset);
}

Hdf5OldFile::Object Hdf5OldFile::object_at(std::uint64_t header) {
  ByteReader in = read(header, 16);
  if (in.read_u8() != 1) throw other_form("an object header");
  in.skip(1);
  const std::uint16_t messages = in.read_u16();
  in.skip(4);
  Object object;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> chunks = {{header + 16, in.read_u32()}};
  std::uint64_t seen = 0, all_bytes = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    const auto [begin, bytes] = chunks[i];
    all_bytes += bytes;
    if (all_bytes > kMostHeaderBytes) throw other_form("an object header of 1 MiB");
    for (std::uint64_t at = 0; bytes - at >= 8 && seen < messages; ++seen) {
      ByteReader message = read(begin + at, 8);
      const std::uint16_t type = message.read_u16(), size = message.read_u16();
      count(8U + size);
      const bool is_shared = (message.read_u8() & 2) != 0;
      at += 8;
      if (size > bytes - at) throw other_form("a header message");
      if (is_shared && type != 0) throw other_form("a shared message");
      if (type == 0x10) {
        ByteReader next = read(begin + at, 16);
        const std::uint64_t address = next.read_u64();
        chunks.emplace_back(address, next.read_u64());
      } else {
        read_message(type, begin + at, size, object);
      }
      at += size;
    }
  }
  return object;
}

void Hdf5OldFile::read_message(unsigned type, std::uint64_t begin, std::uint64_t bytes,
                               Object& object) {
  ByteReader in = read(begin, bytes);
  switch (type) {
    case 0x01:
      object.data.sides = sides_in(in);
      break;
    case 0x03:
      object.data.type = copy_of(in.read_bytes(bytes));
      break;
    case 0x08:
      object.is_dataset = true;
      read_layout(begin, bytes, object.data);
      break;
    case 0x0c:
      read_attribute(begin, bytes, object);
      break;
    case 0x11:
      object.is_group = true;
      object.tree = in.read_u64();
      object.heap = in.read_u64();
      break;
    case 0x02:  // links, attributes, that lie elsewhere; external files; filters
    case 0x06:
    case 0x07:
    case 0x0b:
    case 0x15:
      throw other_form("an object");
    default:
      break;
  }
}

void Hdf5OldFile::read_layout(std::uint64_t begin, std::uint64_t bytes, Data& data) {
  ByteReader in = read(begin, bytes);
  const std::uint8_t version = in.read_u8(), kind = in.read_u8();
  if ((version != 3 && version != 4) || kind > 1) throw other_form("a dataset");
  if (kind == 0) {
    data.bytes = in.read_u16();
    data.offset = begin + 4;
    in.skip(data.bytes);
    return;
  }
  data.offset = in.read_u64();
  data.bytes = in.read_u64();
  if (data.offset == kNowhere) return;
  if (data.offset > file_.size() || data.bytes > file_.size() - data.offset)
    throw other_form("a dataset outside of the file");
}

void Hdf5OldFile::read_attribute(std::uint64_t begin, std::uint64_t bytes, Object& object) {
  ByteReader in = read(begin, bytes);
  const std::uint8_t version = in.read_u8(), flags = in.read_u8();
  if (version < 1 || version > 3 || flags != 0) throw other_form("an attribute");
  const std::uint64_t name = in.read_u16(), type = in.read_u16(), space = in.read_u16();
  if (version == 3) in.skip(1);
  const auto take = [&](std::uint64_t length) {
    const Bytes taken = in.read_bytes(length);
    if (version == 1) in.skip(padded(length) - length);
    return taken;
  };
  Attribute attribute;
  attribute.name = as_text(take(name));
  attribute.name = attribute.name.c_str();  // with its NUL
  attribute.data.type = copy_of(take(type));
  attribute.data.sides = sides_in(ByteReader(take(space)));
  attribute.data.offset = in.offset();
  attribute.data.bytes = in.remaining();
  object.attributes.push_back(std::move(attribute));
}

std::vector<Hdf5OldFile::Link> Hdf5OldFile::links_of(const Object& group) {
  ByteReader in = read(group.heap, 32);
  if (as_text(in.read_bytes(4)) != "HEAP") throw other_form("a group");
  in.skip(4);
  Heap names;
  names.length = in.read_u64();
  in.skip(8);
  names.offset = in.read_u64();
  if (names.offset > file_.size() || names.length > file_.size() - names.offset)
    throw other_form("a heap of names");
  std::vector<Link> links;
  constexpr int kAnyLevel = -1;
  add_links(group.tree, names, kAnyLevel, links);
  return links;
}

void Hdf5OldFile::add_links(std::uint64_t node, const Heap& names, int level,
                            std::vector<Link>& links) {
  constexpr std::uint64_t kHead = 24, kEntry = 16;
  ByteReader in = read(node, kHead);
  if (as_text(in.read_bytes(4)) != "TREE" || in.read_u8() != 0) throw other_form("a group");
  const int here = in.read_u8();
  const std::uint16_t entries = in.read_u16();
  if (level >= 0 && here != level) throw other_form("a tree");
  count(kHead + entries * kEntry);
  for (std::uint64_t i = 0; i < entries; ++i) {
    const std::uint64_t below = read(node + kHead + i * kEntry + 8, 8).read_u64();
    if (here > 0) {
      add_links(below, names, here - 1, links);
    } else {
      add_symbols(below, names, links);
    }
  }
}

void Hdf5OldFile::add_symbols(std::uint64_t node, const Heap& names, std::vector<Link>& links) {
  constexpr std::uint64_t kHead = 8, kSymbol = 40;
  ByteReader in = read(node, kHead);
  if (as_text(in.read_bytes(4)) != "SNOD") throw other_form("a node of a group");
  in.skip(2);
  const std::uint16_t symbols = in.read_u16();
  count(kHead + symbols * kSymbol);
  const Bytes all = view(node + kHead, symbols * kSymbol);
  const std::vector<std::byte> held = copy_of(all);  // names are looked for elsewhere
  ByteReader entries{Bytes(held)};
  for (std::uint64_t i = 0; i < symbols; ++i) {
    const std::uint64_t name = entries.read_u64(), header = entries.read_u64();
    const bool is_soft = entries.read_u32() == 2;
    entries.skip(20);
    if (name >= names.length) throw other_form("a name");
    constexpr std::uint64_t kUsual = 256;
    for (std::uint64_t room = kUsual;; room *= 16) {
      const std::uint64_t left = std::min(room, names.length - name);
      const std::string_view text = as_text(view(names.offset + name, left));
      const std::size_t end = text.find('\0');
      if (end == std::string_view::npos) {
        if (left < room || room > kMostNameBytes) throw other_form("a name");
        continue;
      }
      links.push_back({.name = std::string(text.substr(0, end)),
                       .place = {.offset = names.offset + name, .length = end},
                       .header = header,
                       .is_hard = !is_soft});
      break;
    }
  }
}

}  // namespace shale
