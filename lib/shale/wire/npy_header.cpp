#include "shale/wire/npy_header.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/python_literal.hpp"
#include "shale/data/array_text.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kGrowthDigits = 21;  // GROWTH_AXIS_MAX_DIGITS
constexpr std::uint64_t kMaxTextBytes = 65'535, kMaxLongTextBytes = 4 << 20;
constexpr std::size_t kMaxAxes = 64;  // NPY_MAXDIMS of NumPy 2
constexpr std::string_view kMagic = "\x93NUMPY";

std::string dict_text(const NpyHeader& header) {
  const DType& dtype = header.dtype;
  std::string text = fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}",
                                 dtype.is_structured() ? dtype.descr() : python_repr(dtype.descr()),
                                 header.fortran_order ? "True" : "False", shape_text(header.shape));
  if (header.shape.empty()) return text;
  const std::uint64_t axis = header.fortran_order ? header.shape.back() : header.shape.front();
  return text + std::string(kGrowthDigits - fmt::formatted_size("{}", axis), ' ');
}

// In UTF-8, C2 and C3 lead the characters U+0080 to U+00FF.
bool fits_latin1(std::string_view utf8) {
  return std::all_of(utf8.begin(), utf8.end(),
                     [](char c) { return static_cast<std::uint8_t>(c) < 0xc4; });
}

std::string to_latin1(std::string_view utf8) {
  std::string text;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(utf8[i]);
    const bool is_pair = byte >= 0x80;
    text += is_pair ? static_cast<char>((byte & 3U) << 6 | (utf8[++i] & 0x3f)) : utf8[i];
  }
  return text;
}

}  // namespace

std::vector<std::byte> npy_header_bytes(const NpyHeader& header) {
  if (!header.swaps.empty()) throw Error(Code::bug, "npy header of a big-endian array asked for");
  std::string text = dict_text(header);
  const bool is_latin1 = fits_latin1(text);
  if (is_latin1) text = to_latin1(text);
  // One to 64 spaces: NumPy never pads with none.
  const auto padding = [&](std::uint64_t prefix_bytes) {
    return kAlignment - (prefix_bytes + text.size() + 1) % kAlignment;
  };
  const bool is_short = is_latin1 && text.size() + padding(10) + 1 <= kMaxTextBytes;
  text.append(padding(is_short ? 10 : 12), ' ');
  text += '\n';
  if (text.size() > kMaxLongTextBytes) {
    throw Error(Code::limit, "npy header would take {} bytes; at most {} are written", text.size(),
                kMaxLongTextBytes);
  }
  ByteWriter out;
  out.write_text(kMagic);
  out.write(static_cast<std::uint8_t>(is_short ? 1 : is_latin1 ? 2 : 3));
  out.write(std::uint8_t{0});
  if (is_short) {
    out.write(static_cast<std::uint16_t>(text.size()));
  } else {
    out.write(static_cast<std::uint32_t>(text.size()));
  }
  out.write_text(text);
  return out.take();
}

namespace {

NpyHeader read_dict(PythonScanner& from) {
  NpyHeader header;
  bool has_descr = false, has_order = false, has_shape = false;
  from.expect('{');
  while (!from.accept('}')) {
    const std::string key = from.read_string();
    from.expect(':');
    if (key == "descr" && !has_descr) {
      has_descr = true;
      StoredDType stored = read_stored_dtype(from);
      header.dtype = std::move(stored.dtype);
      header.swaps = std::move(stored.swaps);
    } else if (key == "fortran_order" && !has_order) {
      has_order = true;
      header.fortran_order = from.read_bool();
    } else if (key == "shape" && !has_shape) {
      has_shape = true;
      header.shape = from.read_shape(kMaxAxes);
    } else {
      throw from.damaged("npy header has an unexpected key '{}'", printable(key));
    }
    if (from.accept(',')) continue;
    from.expect('}');
    break;
  }
  if (!from.at_end()) throw from.damaged("npy header continues after its dictionary");
  if (!has_descr || !has_order || !has_shape) {
    throw from.damaged("npy header has no '{}'", !has_descr   ? "descr"
                                                 : !has_order ? "fortran_order"
                                                              : "shape");
  }
  return header;
}

void check_total(const NpyHeader& header, std::string_view where, std::uint64_t begin) {
  std::uint64_t bytes = header.dtype.item_bytes();
  for (const std::uint64_t axis : header.shape) {
    if (axis == 0) continue;
    if (bytes > std::numeric_limits<std::int64_t>::max() / axis) {
      throw Error(Code::damaged, "npy array of shape {} takes 2^63 bytes or more",
                  shape_text(header.shape))
          .at(where, begin);
    }
    bytes *= axis;
  }
}

struct Prefix {
  std::uint8_t major;
  std::uint64_t text_begin, text_length;
};

Prefix read_prefix(ByteReader& in, std::string_view where) {
  if (in.remaining() < kMagic.size() || as_text(in.read_bytes(kMagic.size())) != kMagic) {
    throw Error(Code::damaged, "file does not start like an npy file").at(where, 0);
  }
  const std::uint8_t major = in.read_u8(), minor = in.read_u8();
  if (major < 1 || major > 3 || minor != 0) {
    throw Error(Code::unsupported, "npy version {}.{} is not one of the versions 1.0 to 3.0", major,
                minor)
        .at(where, 6);
  }
  const std::uint64_t length = major == 1 ? in.read_u16() : in.read_u32();
  const std::uint64_t begin = in.offset();
  if (begin + length > kMaxNpyHeaderBytes) {
    throw Error(Code::limit, "npy header of {} bytes, more than the limit of {}", begin + length,
                kMaxNpyHeaderBytes)
        .at(where, 8);
  }
  return {major, begin, length};
}

}  // namespace

std::uint64_t npy_header_length(Bytes prefix, std::string_view where) {
  ByteReader in(prefix, where);
  const Prefix found = read_prefix(in, where);
  return found.text_begin + found.text_length;
}

NpyHeader parse_npy_header(Bytes bytes, std::string_view where) {
  ByteReader in(bytes, where);
  const auto [major, begin, length] = read_prefix(in, where);
  if (length > in.remaining()) {
    throw Error(Code::damaged, "npy header of {} bytes is truncated after {}", begin + length,
                bytes.size())
        .at(where, 8);
  }
  const std::string_view text = as_text(in.read_bytes(length));
  if (major == 3 && !is_utf8(text))
    throw Error(Code::damaged, "npy header is not UTF-8").at(where, begin);
  PythonScanner from(text,
                     major == 3 ? PythonScanner::Encoding::utf8 : PythonScanner::Encoding::latin1,
                     {.subject = "npy header", .file = where, .base = begin});
  NpyHeader header = read_dict(from);
  header.data_offset = begin + length;
  check_total(header, where, begin);
  return header;
}

std::uint64_t npy_data_bytes(const NpyHeader& header) {
  std::uint64_t bytes = header.dtype.item_bytes();
  for (const std::uint64_t axis : header.shape) bytes *= axis;
  return bytes;
}

void check_npy_size(const NpyHeader& header, std::uint64_t size, std::string_view where) {
  const std::uint64_t bytes = npy_data_bytes(header), begin = std::min(size, header.data_offset);
  if (size - begin >= bytes && begin == header.data_offset) return;
  throw Error(Code::damaged,
              "array of shape {} takes {} bytes after its header, but the file has {}",
              shape_text(header.shape), bytes, size - begin)
      .at(where, begin)
      .hint("the file was truncated, or is still being written; save or copy it again");
}

Error npy_goes_on(const NpyHeader& header, std::uint64_t more, Bytes behind, std::string_view where,
                  std::uint64_t offset) {
  const bool is_another = is_npy(behind);
  Error error(Code::unsupported, "array of shape {} is followed by {} more {}{}",
              shape_text(header.shape), more, more == 1 ? "byte" : "bytes",
              is_another ? ", which begin with another array" : "");
  error.at(where, offset)
      .hint(is_another
                ? "numpy.save was called more than once on one open file: read the arrays with "
                  "numpy.load, one call each, and save each to a file of its own"
                : "numpy.load ignores them: numpy.save(PATH, numpy.load(PATH)) writes the array "
                  "alone");
  return error;
}

}  // namespace shale
