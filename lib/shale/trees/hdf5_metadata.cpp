#include "shale/trees/hdf5_metadata.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "shale/base/error.hpp"

// All numbers are little-endian. "Sizes of 8": offsets and lengths take 8 bytes; no other sizes are
// written or read.
//
//  superblock, version 2 (3: the same, the flags have a meaning)
//  +0   "\x89HDF\r\n\x1a\n"
//  +8   u8   version                 +9   u8  bytes of an offset: 8   +10  u8  of a length: 8
//  +11  u8   consistency flags       +12  u64 base address: 0
//  +20  u64  address of the superblock's extension, all ones: none
//  +28  u64  end of file             +36  u64 address of the root group's object header
//  +44  u32  lookup3 of the 44 bytes before
//
//  object header, version 2: chunk 0
//  +0   "OHDR"     +4  u8 version: 2
//  +5   u8  flags: bits 0-1 say that the size takes 1, 2, 4 or 8 bytes; bit 2: messages carry a
//           creation order; bit 4: two u16 more here; bit 5: four u32 (times) more here, before
//  +6   size of the messages; the messages; u32 lookup3 of all bytes from "OHDR"
//  a further chunk: "OCHK", the messages, u32 lookup3 of all bytes from "OCHK"
//
//  message: u8 type, u16 bytes of the body, u8 flags, [u16 creation order], the body. Fewer bytes
//  than these 4 (or 6) at the end of a chunk are a gap.
//
//  0x01 dataspace   u8 version 2, u8 axes, u8 flags (bit 0: largest sides follow), u8 type (0
//                   scalar, 1 simple, 2 null), u64 a side [, u64 a largest side]
//                   version 1: u8 version, u8 axes, u8 flags, 5 bytes, the same
//  0x02 link info   u8 version 0, u8 flags (bit 0: u64 more here; bit 1: u64 more behind), u64
//                   address of the heap of links, all ones: they are link messages; u64 index
//  0x05 fill value  u8 version 3, u8 flags: bits 0-1 allocated: 1 early; bits 2-3 filled: 1 never
//  0x06 link        u8 version 1, u8 flags: bits 0-1 bytes of the name's length; bit 2: u64
//                   creation order; bit 3: u8 type (0 hard); bit 4: u8 character set (1 UTF-8);
//                   then the fields so named, the length, the name, u64 address
//  0x08 layout      u8 version 3 or 4, u8 class (1 contiguous), u64 address, u64 bytes
//  0x0a group info  u8 version 0, u8 flags 0
//  0x0c attribute   u8 version 3, u8 flags 0, u16 bytes of the name with its NUL, u16 of the
//                   datatype, u16 of the dataspace, u8 character set (0 ASCII), these three, the
//                   value
//  0x10 continuation  u64 address, u64 bytes of the next chunk
//  0x15 attribute info  u8 version 0, u8 flags 0, u64 address of the heap of attributes, all ones:
//                   they are attribute messages; u64 index

namespace shale {
namespace {

constexpr std::uint64_t kCheckBytes = 4, kTagBytes = 4;
constexpr std::uint8_t kConstant = 0x01, kShared = 0x02;
// A message may have no bytes, and takes some 50 of memory all the same.
constexpr std::size_t kMaxMessages = 65'536;
// Version 2, no axes, no flags, a scalar.
constexpr std::string_view kScalarDataspace("\x02\0\0\0", 4);

std::uint32_t rotated(std::uint32_t value, int bits) { return std::rotl(value, bits); }

std::uint32_t load_u32(const std::byte* from) {
  std::uint32_t value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

HeaderMessage message_of(MessageType type, std::uint8_t flags, ByteWriter&& body) {
  return {.type = type, .flags = flags, .offset = 0, .body = body.take()};
}

Error damaged_version(std::string_view what, unsigned version, const std::string& path,
                      std::uint64_t offset) {
  return Error(Code::unsupported, "{} has version {}, which shale never writes", what, version)
      .at(path, offset);
}

ByteReader reader_of(const HeaderMessage& message, const std::string& path) {
  if ((message.flags & kShared) != 0) {
    throw Error(Code::unsupported, "header message {:#04x} lies in another object",
                static_cast<unsigned>(message.type))
        .at(path, message.offset);
  }
  return ByteReader(message.body, path, message.offset);
}

// One chunk of an object header, read whole and proved by its checksum.
class HeaderChunk {
 public:
  HeaderChunk(const InputFile& file, std::uint64_t address, std::uint64_t bytes,
              std::string_view tag)
      : path_(file.path()), address_(address) {
    const std::uint64_t left = address < file.size() ? file.size() - address : 0;
    if (bytes > left || bytes < kTagBytes + kCheckBytes) {
      throw Error(Code::damaged, "an object header's chunk of {} bytes, but only {} are left",
                  bytes, left)
          .at(path_, address);
    }
    bytes_.resize(bytes);
    file.read_exact(address, bytes_);
    if (as_text(Bytes(bytes_).first(kTagBytes)) != tag) {
      throw Error(Code::damaged, "expected an object header's chunk '{}' here", tag)
          .at(path_, address);
    }
    const std::uint32_t stored = load_u32(bytes_.data() + bytes - kCheckBytes);
    const std::uint32_t computed = lookup3(Bytes(bytes_).first(bytes - kCheckBytes));
    if (stored != computed) {
      throw Error(Code::damaged,
                  "checksum mismatch in an object header: stored {:#010x}, computed {:#010x}",
                  stored, computed)
          .at(path_, address);
    }
  }

  // The messages that begin `skipped` bytes into the chunk; appended to `messages`.
  void read_messages(std::uint64_t skipped, bool has_creation_order,
                     std::vector<HeaderMessage>& messages) const {
    const Bytes body = Bytes(bytes_).first(bytes_.size() - kCheckBytes).subspan(skipped);
    ByteReader in(body, path_, address_ + skipped);
    const std::uint64_t prefix = has_creation_order ? 6 : 4;
    while (in.remaining() >= prefix) {
      const auto type = static_cast<MessageType>(in.read_u8());
      const std::uint16_t bytes = in.read_u16();
      const std::uint8_t flags = in.read_u8();
      if (has_creation_order) in.skip(2);
      const std::uint64_t offset = in.offset();
      const Bytes content = in.read_bytes(bytes);
      if (type == MessageType::nil) continue;
      if (messages.size() == kMaxMessages) {
        throw Error(Code::limit, "object header of more than {} messages", kMaxMessages)
            .at(path_, offset);
      }
      messages.push_back({type, flags, offset, {content.begin(), content.end()}});
    }
  }

 private:
  const std::string& path_;
  std::uint64_t address_;
  std::vector<std::byte> bytes_;
};

struct HeaderPrefix {
  std::uint64_t prefix_bytes = 0, message_bytes = 0;
  bool has_creation_order = false;
};

HeaderPrefix read_prefix(const InputFile& file, std::uint64_t address) {
  std::byte head[32];
  const std::uint64_t got = file.read_some(address, head);
  ByteReader in(Bytes(head, got), file.path(), address);
  if (as_text(in.read_bytes(kTagBytes)) != "OHDR")
    throw Error(Code::damaged, "expected an object header here").at(file.path(), address);
  const std::uint8_t version = in.read_u8();
  if (version != 2) throw damaged_version("an object header", version, file.path(), address);
  const std::uint8_t flags = in.read_u8();
  if ((flags & 0x20) != 0) in.skip(16);
  if ((flags & 0x10) != 0) in.skip(4);
  HeaderPrefix prefix;
  prefix.has_creation_order = (flags & 0x04) != 0;
  const unsigned size_bytes = 1U << (flags & 0x03);
  for (unsigned i = 0; i < size_bytes; ++i)
    prefix.message_bytes |= std::uint64_t{in.read_u8()} << (8 * i);
  prefix.prefix_bytes = in.offset() - address;
  return prefix;
}

// Of attributes, or links, that are all in the header: neither a heap nor a tree has more.
HeaderMessage nowhere_else_message(MessageType type) {
  ByteWriter body;
  body.write(std::uint16_t{0});
  body.write(kHdf5Nowhere);
  body.write(kHdf5Nowhere);
  return message_of(type, 0, std::move(body));
}

void add_attributes(std::vector<HeaderMessage>& messages,
                    std::span<const HeaderMessage> attributes) {
  if (!attributes.empty()) messages.push_back(nowhere_else_message(MessageType::attribute_info));
  messages.insert(messages.end(), attributes.begin(), attributes.end());
}

}  // namespace

std::uint32_t lookup3(Bytes bytes) {
  std::uint32_t a = 0xdeadbeef + static_cast<std::uint32_t>(bytes.size());
  std::uint32_t b = a, c = a;
  if (bytes.empty()) return c;
  const auto absorb = [&](const std::byte* from) {
    a += load_u32(from);
    b += load_u32(from + 4);
    c += load_u32(from + 8);
  };
  for (; bytes.size() > 12; bytes = bytes.subspan(12)) {
    absorb(bytes.data());
    a = (a - c) ^ rotated(c, 4), c += b;
    b = (b - a) ^ rotated(a, 6), a += c;
    c = (c - b) ^ rotated(b, 8), b += a;
    a = (a - c) ^ rotated(c, 16), c += b;
    b = (b - a) ^ rotated(a, 19), a += c;
    c = (c - b) ^ rotated(b, 4), b += a;
  }
  std::byte last[12] = {};  // the rest, as if zeros followed
  std::copy(bytes.begin(), bytes.end(), last);
  absorb(last);
  c = (c ^ b) - rotated(b, 14);
  a = (a ^ c) - rotated(c, 11);
  b = (b ^ a) - rotated(a, 25);
  c = (c ^ b) - rotated(b, 16);
  a = (a ^ c) - rotated(c, 4);
  b = (b ^ a) - rotated(a, 14);
  return (c ^ b) - rotated(b, 24);
}

std::vector<std::byte> superblock_bytes(const Superblock& superblock) {
  ByteWriter out;
  out.write_text(kHdf5Signature);
  out.write(std::uint8_t{2});
  out.write(std::uint8_t{8});
  out.write(std::uint8_t{8});
  out.write(std::uint8_t{0});
  out.write(std::uint64_t{0});
  out.write(kHdf5Nowhere);
  out.write(superblock.end_of_file);
  out.write(superblock.root_address);
  out.write(lookup3(out.bytes()));
  return out.take();
}

std::vector<std::byte> object_header_bytes(std::span<const HeaderMessage> messages) {
  ByteWriter content;
  for (const HeaderMessage& message : messages) {
    content.write(static_cast<std::uint8_t>(message.type));
    content.write(static_cast<std::uint16_t>(message.body.size()));
    content.write(message.flags);
    content.write_bytes(message.body);
  }
  ByteWriter out;
  out.write_text("OHDR");
  out.write(std::uint8_t{2});
  // As narrow as the library itself writes it.
  if (content.size() <= 0xff) {
    out.write(std::uint8_t{0});
    out.write(static_cast<std::uint8_t>(content.size()));
  } else if (content.size() <= 0xffff) {
    out.write(std::uint8_t{1});
    out.write(static_cast<std::uint16_t>(content.size()));
  } else {
    out.write(std::uint8_t{2});
    out.write(static_cast<std::uint32_t>(content.size()));
  }
  out.write_bytes(content.bytes());
  out.write(lookup3(out.bytes()));
  return out.take();
}

HeaderMessage dataspace_message(std::span<const std::uint64_t> sides) {
  ByteWriter body;
  body.write(std::uint8_t{2});
  body.write(static_cast<std::uint8_t>(sides.size()));
  body.write(std::uint8_t{0});
  body.write(std::uint8_t{1});
  for (const std::uint64_t side : sides) body.write(side);
  return message_of(MessageType::dataspace, 0, std::move(body));
}

HeaderMessage fill_value_message() {
  ByteWriter body;
  body.write(std::uint8_t{3});
  body.write(std::uint8_t{0x05});
  return message_of(MessageType::fill_value, kConstant, std::move(body));
}

HeaderMessage layout_message(const ContiguousData& data) {
  ByteWriter body;
  body.write(std::uint8_t{3});
  body.write(std::uint8_t{1});
  body.write(data.address);
  body.write(data.bytes);
  return message_of(MessageType::layout, kConstant, std::move(body));
}

HeaderMessage link_message(const HardLink& link) {
  const bool is_ascii =
      std::all_of(link.name.begin(), link.name.end(), [](char c) { return (c & 0x80) == 0; });
  ByteWriter body;
  body.write(std::uint8_t{1});
  body.write(static_cast<std::uint8_t>(is_ascii ? 0x01 : 0x11));
  if (!is_ascii) body.write(std::uint8_t{1});
  body.write(static_cast<std::uint16_t>(link.name.size()));
  body.write_text(link.name);
  body.write(link.address);
  return message_of(MessageType::link, 0, std::move(body));
}

HeaderMessage attribute_message(const Attribute& attribute) {
  const HeaderMessage simple = dataspace_message(attribute.sides);
  const Bytes dataspace = attribute.sides.empty() ? as_bytes(kScalarDataspace) : Bytes(simple.body);
  ByteWriter body;
  body.write(std::uint8_t{3});
  body.write(std::uint8_t{0});
  body.write(static_cast<std::uint16_t>(attribute.name.size() + 1));
  body.write(static_cast<std::uint16_t>(attribute.datatype.size()));
  body.write(static_cast<std::uint16_t>(dataspace.size()));
  body.write(std::uint8_t{0});
  body.write_text(attribute.name);
  body.write(std::uint8_t{0});
  body.write_bytes(attribute.datatype);
  body.write_bytes(dataspace);
  body.write_bytes(attribute.value);
  return message_of(MessageType::attribute, 0, std::move(body));
}

std::optional<Attribute> read_attribute(const HeaderMessage& message, const std::string& path) {
  const auto copy = [](Bytes bytes) { return std::vector<std::byte>(bytes.begin(), bytes.end()); };
  ByteReader in = reader_of(message, path);
  if (in.read_u8() != 3 || in.read_u8() != 0) return std::nullopt;
  const std::uint16_t name = in.read_u16(), datatype = in.read_u16(), dataspace = in.read_u16();
  if (in.read_u8() != 0 || name == 0) return std::nullopt;
  Attribute attribute;
  attribute.name = as_text(in.read_bytes(name - 1U));
  in.skip(1);
  attribute.datatype = copy(in.read_bytes(datatype));
  const std::uint64_t offset = in.offset();
  attribute.sides =
      read_dataspace({MessageType::dataspace, 0, offset, copy(in.read_bytes(dataspace))}, path);
  attribute.value = copy(in.read_bytes(in.remaining()));
  return attribute;
}

HeaderMessage link_info_message() { return nowhere_else_message(MessageType::link_info); }

HeaderMessage group_info_message() {
  ByteWriter body;
  body.write(std::uint16_t{0});
  return message_of(MessageType::group_info, kConstant, std::move(body));
}

std::vector<std::byte> dataset_header_bytes(std::span<const std::uint64_t> sides,
                                            std::vector<std::byte> datatype,
                                            const ContiguousData& data,
                                            std::span<const HeaderMessage> attributes) {
  std::vector<HeaderMessage> messages = {
      dataspace_message(sides),
      {MessageType::datatype, kConstant, 0, std::move(datatype)},
      fill_value_message(),
      layout_message({data.bytes == 0 ? kHdf5Nowhere : data.address, data.bytes})};
  add_attributes(messages, attributes);
  return object_header_bytes(messages);
}

std::vector<std::byte> file_head_bytes(std::span<const NamedHeader> datasets,
                                       std::uint64_t end_of_file,
                                       std::span<const HeaderMessage> attributes) {
  const auto root_with_base = [&](std::uint64_t next) {
    std::vector<HeaderMessage> messages = {group_info_message(), link_info_message()};
    add_attributes(messages, attributes);
    for (const NamedHeader& dataset : datasets) {
      const bool is_here = dataset.address == kHdf5Nowhere;
      messages.push_back(link_message({dataset.name, is_here ? next : dataset.address}));
      next += dataset.header.size();
    }
    return object_header_bytes(messages);
  };
  const std::uint64_t base = kSuperblockBytes + root_with_base(0).size();
  ByteWriter head;
  head.write_bytes(superblock_bytes({end_of_file, kSuperblockBytes}));
  head.write_bytes(root_with_base(base));
  for (const NamedHeader& dataset : datasets) head.write_bytes(dataset.header);
  return head.take();
}

Superblock read_superblock(const InputFile& file) {
  std::byte bytes[kSuperblockBytes];
  const std::uint64_t got = file.read_some(0, bytes);
  ByteReader in(Bytes(bytes, got), file.path());
  if (as_text(in.read_bytes(kHdf5Signature.size())) != kHdf5Signature)
    throw Error(Code::damaged, "file does not start with an HDF5 signature").at(file.path(), 0);
  const std::uint8_t version = in.read_u8();
  if (version != 2 && version != 3)
    throw damaged_version("the superblock", version, file.path(), 8);
  const std::uint16_t sizes = in.read_u16();
  in.skip(1);
  const std::uint64_t base = in.read_u64();
  in.skip(8);  // the extension: nothing in it moves a dataset
  Superblock superblock;
  superblock.end_of_file = in.read_u64();
  superblock.root_address = in.read_u64();
  const std::uint32_t stored = in.read_u32();
  const std::uint32_t computed = lookup3(Bytes(bytes).first(kSuperblockBytes - kCheckBytes));
  if (stored != computed) {
    throw Error(Code::damaged,
                "checksum mismatch in the superblock: stored {:#010x}, computed {:#010x}", stored,
                computed)
        .at(file.path(), kSuperblockBytes - kCheckBytes);
  }
  if (sizes != 0x0808 || base != 0) {
    throw Error(Code::unsupported,
                "superblock with sizes {:#06x} and base address {}, expected 0x0808 and 0", sizes,
                base)
        .at(file.path(), 9);
  }
  return superblock;
}

std::vector<HeaderMessage> read_object_header(const InputFile& file, std::uint64_t address,
                                              std::uint64_t limit_bytes) {
  const auto check_limit = [&](std::uint64_t bytes, std::uint64_t at) {
    if (bytes <= limit_bytes) return;
    throw Error(Code::limit, "object header of {} bytes or more, more than the limit of {}", bytes,
                limit_bytes)
        .at(file.path(), at);
  };
  const HeaderPrefix prefix = read_prefix(file, address);
  check_limit(prefix.message_bytes, address);
  std::uint64_t total = prefix.prefix_bytes + prefix.message_bytes + kCheckBytes;
  std::vector<HeaderMessage> messages;
  HeaderChunk(file, address, total, "OHDR")
      .read_messages(prefix.prefix_bytes, prefix.has_creation_order, messages);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].type != MessageType::continuation) continue;
    ByteReader in = reader_of(messages[i], file.path());
    const std::uint64_t next = in.read_u64(), bytes = in.read_u64();
    check_limit(bytes, messages[i].offset);
    total += bytes;
    check_limit(total, messages[i].offset);
    HeaderChunk(file, next, bytes, "OCHK")
        .read_messages(kTagBytes, prefix.has_creation_order, messages);
  }
  return messages;
}

std::vector<std::uint64_t> read_dataspace(const HeaderMessage& message, const std::string& path) {
  ByteReader in = reader_of(message, path);
  const std::uint8_t version = in.read_u8(), axes = in.read_u8();
  in.skip(1);  // whether largest sides follow: a contiguous dataset cannot grow
  if (version == 1) {
    in.skip(5);
  } else if (version == 2) {
    if (in.read_u8() > 1) {
      throw Error(Code::unsupported, "the dataspace is neither simple nor scalar")
          .at(path, message.offset);
    }
  } else {
    throw damaged_version("a dataspace", version, path, message.offset);
  }
  std::vector<std::uint64_t> sides;
  for (unsigned axis = 0; axis < axes; ++axis) sides.push_back(in.read_u64());
  return sides;
}

ContiguousData read_layout(const HeaderMessage& message, const std::string& path) {
  ByteReader in = reader_of(message, path);
  const std::uint8_t version = in.read_u8();
  if (version != 3 && version != 4)
    throw damaged_version("a data layout", version, path, message.offset);
  if (const std::uint8_t kind = in.read_u8(); kind != 1) {
    throw Error(Code::unsupported, "storage of class {}, expected 1 (contiguous)", kind)
        .at(path, message.offset);
  }
  ContiguousData data;
  data.address = in.read_u64();
  data.bytes = in.read_u64();
  return data;
}

std::optional<HardLink> read_link(const HeaderMessage& message, const std::string& path) {
  ByteReader in = reader_of(message, path);
  if (const std::uint8_t version = in.read_u8(); version != 1)
    throw damaged_version("a link", version, path, message.offset);
  const std::uint8_t flags = in.read_u8();
  if ((flags & 0x08) != 0 && in.read_u8() != 0) return std::nullopt;
  if ((flags & 0x04) != 0) in.skip(8);
  if ((flags & 0x10) != 0) in.skip(1);
  std::uint64_t name_bytes = 0;
  for (unsigned i = 0; i < 1U << (flags & 0x03); ++i)
    name_bytes |= std::uint64_t{in.read_u8()} << (8 * i);
  HardLink link;
  link.name = as_text(in.read_bytes(name_bytes));
  link.address = in.read_u64();
  return link;
}

std::optional<std::uint64_t> address_of_dataset(const InputFile& file, std::string_view name) {
  const std::uint64_t root = read_superblock(file).root_address;
  for (const HeaderMessage& message : read_object_header(file, root, kMaxRootBytes)) {
    if (message.type != MessageType::link) continue;
    const std::optional<HardLink> link = read_link(message, file.path());
    if (link && link->name == name) return link->address;
  }
  return std::nullopt;
}

bool has_compact_links(const HeaderMessage& link_info, const std::string& path) {
  ByteReader in = reader_of(link_info, path);
  in.skip(1);
  if ((in.read_u8() & 0x01) != 0) in.skip(8);
  return in.read_u64() == kHdf5Nowhere;
}

}  // namespace shale
