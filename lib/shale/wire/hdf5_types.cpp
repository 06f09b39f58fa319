#include "shale/wire/hdf5_types.hpp"

#include <fmt/format.h>

#include "shale/base/error.hpp"

// The body of a datatype message (HDF5 File Format Specification 3.0, section IV.A.2.d):
//  +0  u8   version << 4 | class         +1  u24 bits of the class       +4  u32 bytes per element
//  class 0, integer   bits: 0 big-endian, 1-2 padding, 3 signed
//                     +8  u16 first bit, u16 bits
//  class 1, float     bits: 0 and 6 byte order, 1-3 padding, 4-5 normalization (2: the leading 1 is
//                     implied), 8-15 where the sign lies
//                     +8  u16 first bit, u16 bits, u8 where the exponent lies, u8 its bits, u8
//                     where
//                         the mantissa lies, u8 its bits, u32 bias of the exponent
//  class 3, string    bits: 0-3 padding (1: NULs), 4-7 characters
//  class 5, opaque    bits: 0-7 length of the tag; +8 the tag, padded to a multiple of 8
//  class 6, compound  bits: 0-15 members; each: name, NUL, its offset, its type
//  class 8, enum      bits: 0-15 members; the base type, the names, each with NUL, the values
//  class 9, vlen      bits: 0-3 0 sequence, 1 string, 8-11 characters (1: UTF-8); the base type
// In versions 1 and 2 names are padded to a multiple of 8 bytes and an offset is a u32 (version 1:
// 28 bytes about arrays follow); in version 3 and later there is no padding, and an offset takes as
// few bytes as the size of the whole needs: here, one.

namespace shale {
namespace {

enum Class : unsigned {
  kInteger = 0,
  kFloat = 1,
  kString = 3,
  kOpaque = 5,
  kCompound = 6,
  kEnum = 8,
  kVlen = 9
};

struct FloatLayout {
  std::uint8_t bytes, exponent_at, exponent_bits, mantissa_bits;
  std::uint32_t bias;
};
constexpr FloatLayout kFloats[] = {{2, 10, 5, 10, 15}, {4, 23, 8, 23, 127}, {8, 52, 11, 52, 1023}};

void write_head(ByteWriter& out, unsigned version, Class kind, std::uint32_t bits,
                std::uint64_t bytes) {
  out.write(static_cast<std::uint8_t>(version << 4 | kind));
  out.write(static_cast<std::uint8_t>(bits));
  out.write(static_cast<std::uint8_t>(bits >> 8));
  out.write(static_cast<std::uint8_t>(bits >> 16));
  out.write(static_cast<std::uint32_t>(bytes));
}

void write_integer(ByteWriter& out, bool is_signed, std::uint64_t bytes) {
  write_head(out, 1, kInteger, is_signed ? 0x08 : 0x00, bytes);
  out.write(std::uint16_t{0});
  out.write(static_cast<std::uint16_t>(8 * bytes));
}

void write_float(ByteWriter& out, std::uint64_t bytes) {
  for (const FloatLayout& layout : kFloats) {
    if (layout.bytes != bytes) continue;
    write_head(out, 1, kFloat, 0x20U | (8U * layout.bytes - 1) << 8, bytes);
    out.write(std::uint16_t{0});
    out.write(static_cast<std::uint16_t>(8 * bytes));
    out.write(layout.exponent_at);
    out.write(layout.exponent_bits);
    out.write(std::uint8_t{0});
    out.write(layout.mantissa_bits);
    out.write(layout.bias);
  }
}

// h5py's bool: an enum of int8.
void write_bool(ByteWriter& out) {
  write_head(out, 3, kEnum, 2, 1);
  write_integer(out, true, 1);
  out.write_text(std::string_view("FALSE\0TRUE\0", 11));
  out.write_text(std::string_view("\0\1", 2));
}

// h5py's complex: a compound of two floats.
void write_complex(ByteWriter& out, std::uint64_t bytes) {
  write_head(out, 3, kCompound, 2, bytes);
  out.write_text(std::string_view("r\0", 2));
  out.write(std::uint8_t{0});
  write_float(out, bytes / 2);
  out.write_text(std::string_view("i\0", 2));
  out.write(static_cast<std::uint8_t>(bytes / 2));
  write_float(out, bytes / 2);
}

struct Head {
  unsigned version, kind;
  std::uint32_t bits, bytes;
};

Head read_head(ByteReader& in) {
  const unsigned first = in.read_u8();
  Head head{.version = first >> 4, .kind = first & 0x0f, .bits = 0, .bytes = 0};
  for (int shift = 0; shift < 24; shift += 8) head.bits |= std::uint32_t{in.read_u8()} << shift;
  head.bytes = in.read_u32();
  return head;
}

std::string order_of(const Head& head) { return head.bytes == 1 ? "|" : "<"; }

std::string read_integer(ByteReader& in, const Head& head) {
  const std::uint16_t first_bit = in.read_u16(), bits = in.read_u16();
  if (head.bytes == 0 || head.bytes > 8 || (head.bytes & (head.bytes - 1)) != 0)
    return fmt::format("integer of {} bytes", head.bytes);
  if (first_bit != 0 || bits != 8 * head.bytes)
    return fmt::format("integer of {} bits in {} bytes", bits, head.bytes);
  if ((head.bits & 1) != 0 && head.bytes > 1)
    return fmt::format("big-endian integer of {} bytes", head.bytes);
  return fmt::format("{}{}{}", order_of(head), (head.bits & 8) != 0 ? 'i' : 'u', head.bytes);
}

std::string read_float(ByteReader& in, const Head& head) {
  const std::uint16_t first_bit = in.read_u16(), bits = in.read_u16();
  const std::uint8_t exponent_at = in.read_u8(), exponent_bits = in.read_u8();
  const std::uint8_t mantissa_at = in.read_u8(), mantissa_bits = in.read_u8();
  const std::uint32_t bias = in.read_u32();
  if ((head.bits & 0x41) != 0) return fmt::format("big-endian float of {} bytes", head.bytes);
  for (const FloatLayout& layout : kFloats) {
    const bool is_ieee =
        head.bytes == layout.bytes && bits == 8U * layout.bytes &&
        exponent_at == layout.exponent_at && exponent_bits == layout.exponent_bits &&
        mantissa_bits == layout.mantissa_bits && bias == layout.bias &&
        (head.bits >> 8 & 0xff) == 8U * layout.bytes - 1 && (head.bits >> 4 & 3) == 2;
    if (is_ieee && first_bit == 0 && mantissa_at == 0) return fmt::format("<f{}", layout.bytes);
  }
  return fmt::format("float of {} bytes that is not IEEE's", head.bytes);
}

std::string read_terminated_text(ByteReader& in) {
  std::string text;
  while (const std::uint8_t c = in.read_u8()) text += static_cast<char>(c);
  return text;
}

std::string read_name(ByteReader& in, unsigned version) {
  std::string name = read_terminated_text(in);
  if (version < 3) in.skip((8 - (name.size() + 1) % 8) % 8);
  return name;
}

constexpr std::uint64_t kVlenReferenceBytes = 16;
constexpr int kDeepest = 2;  // a bool is a type in a type
std::string read_type(ByteReader& in, int depth);

std::string read_enum(ByteReader& in, const Head& head, int depth) {
  const std::string base = read_type(in, depth + 1);
  std::string other = fmt::format("enum of {} names over {}", head.bits & 0xffff, base);
  if ((head.bits & 0xffff) != 2 || base != "|i1") return other;
  const std::string first = read_name(in, head.version), second = read_name(in, head.version);
  const bool is_bool = first == "FALSE" && second == "TRUE" && in.read_u16() == 0x0100;
  return is_bool ? "|b1" : other;
}

std::string read_compound(ByteReader& in, const Head& head, int depth) {
  std::string other = fmt::format("compound of {} members", head.bits & 0xffff);
  if ((head.bits & 0xffff) != 2 || head.bytes > 0xff) return other;
  std::string names, parts[2];
  std::uint32_t offsets[2] = {};
  for (int i = 0; i < 2; ++i) {
    names += read_name(in, head.version);
    offsets[i] = head.version < 3 ? in.read_u32() : in.read_u8();
    if (head.version == 1) in.skip(28);
    parts[i] = read_type(in, depth + 1);
  }
  for (const std::uint32_t half : {4U, 8U}) {
    const std::string part = fmt::format("<f{}", half);
    const bool is_complex = names == "ri" && head.bytes == 2 * half && parts[0] == part &&
                            parts[1] == part && offsets[0] == 0 && offsets[1] == half;
    if (is_complex) return fmt::format("<c{}", head.bytes);
  }
  return other;
}

std::string read_type(ByteReader& in, int depth) {
  if (depth == kDeepest) return "nested types";
  const Head head = read_head(in);
  if (head.kind == kInteger) return read_integer(in, head);
  if (head.kind == kFloat) return read_float(in, head);
  if (head.kind == kEnum) return read_enum(in, head, depth);
  if (head.kind == kCompound) return read_compound(in, head, depth);
  return fmt::format("datatype of class {}", head.kind);
}

}  // namespace

bool has_hdf5_type(const DType& dtype) {
  constexpr std::string_view kDescrs[] = {"|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4",
                                          "<i8", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16"};
  for (const std::string_view descr : kDescrs) {
    if (dtype.descr() == descr) return true;
  }
  return false;
}

std::vector<std::byte> datatype_bytes(const DType& dtype) {
  if (!has_hdf5_type(dtype)) throw Error(Code::bug, "no HDF5 datatype for '{}'", dtype.descr());
  ByteWriter out;
  switch (dtype.descr()[1]) {
    case 'b':
      write_bool(out);
      break;
    case 'c':
      write_complex(out, dtype.item_bytes());
      break;
    case 'f':
      write_float(out, dtype.item_bytes());
      break;
    default:
      write_integer(out, dtype.descr()[1] == 'i', dtype.item_bytes());
  }
  return out.take();
}

std::vector<std::byte> fixed_text_type_bytes(std::uint64_t bytes) {
  ByteWriter out;
  write_head(out, 1, kString, 0x01, bytes);
  return out.take();
}

std::vector<std::byte> vlen_type_bytes(bool is_text) {
  ByteWriter out;
  write_head(out, 1, kVlen, is_text ? 0x0101U : 0U, kVlenReferenceBytes);
  write_integer(out, false, 1);
  return out.take();
}

std::vector<std::byte> vlen_type_bytes(Bytes elements) {
  ByteWriter out;
  write_head(out, 1, kVlen, 0, kVlenReferenceBytes);
  out.write_bytes(elements);
  return out.take();
}

std::vector<std::byte> time_type_bytes(const std::string& descr) {
  constexpr std::size_t kPadding = 8, kTimeBytes = 8;
  std::string tag = "NUMPY:" + descr;
  tag.resize((tag.size() + kPadding - 1) / kPadding * kPadding);
  ByteWriter out;
  write_head(out, 1, kOpaque, static_cast<std::uint32_t>(tag.size()), kTimeBytes);
  out.write_text(tag);
  return out.take();
}

std::string datatype_name(Bytes body) {
  ByteReader in(body);
  try {
    return read_type(in, 0);
  } catch (const Error&) {
    return "truncated datatype";
  }
}

}  // namespace shale
