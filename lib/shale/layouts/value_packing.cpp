#include "shale/layouts/value_packing.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/size_text.hpp"
#include "shale/layouts/float_datum.hpp"
#include "shale/layouts/json_value.hpp"
#include "shale/layouts/map_value.hpp"
#include "shale/wire/msgpack_cursor.hpp"

namespace shale::layouts {
namespace {

constexpr std::uint64_t kPackedWindow = 256 * 1024;

constexpr unsigned kEmptyList = ']', kFrame = 0x95;

// Where the value begins: behind the protocol and the length of the first frame.
std::size_t begin_of_pickle(std::string_view pickle) {
  constexpr std::size_t kProtocolBytes = 2, kFrameBytes = 9;
  const bool has_frame = pickle.size() > kProtocolBytes &&
                         static_cast<unsigned char>(pickle[kProtocolBytes]) == kFrame;
  return kProtocolBytes + (has_frame ? kFrameBytes : 0);
}

// Many bytes begin like a list: its elements have to end where the value does.
bool is_one_msgpack(const ViewBytes& view, std::uint64_t begin, std::uint64_t length) {
  try {
    MsgpackCursor cursor(view, begin + length, {});
    return cursor.end_of(cursor.read(begin)) == begin + length;
  } catch (const Error& error) {
    if (error.code() == Code::io) throw;
    return false;
  }
}

// The first bytes of a value as it is below its compression.
ValuePacking::Contents contents_by_mark(Bytes head) {
  using Contents = ValuePacking::Contents;
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return head.subspan(offset, length);
  };
  if (begins_like_json(as_text(head))) return Contents::json;
  if (looks_like_map(view, 0, head.size())) return Contents::maps;
  if (begins_like_float_datum(head)) return Contents::datums;
  const auto byte = [&](std::size_t i) {
    return i < head.size() ? std::to_integer<unsigned>(head[i]) : 0;
  };
  const bool is_pickle = byte(0) == 0x80 && byte(1) >= 2 && byte(1) <= 5;
  if (is_pickle) {
    return byte(begin_of_pickle(as_text(head))) == kEmptyList ? Contents::pickled_lists
                                                              : Contents::pickles;
  }
  const bool is_list = (byte(0) & 0xf0U) == 0x90 || byte(0) == 0xdc || byte(0) == 0xdd;
  return is_list ? Contents::lists : Contents::other;
}

}  // namespace

std::string with_list_as_field(const ValuePacking& packing, Bytes list) {
  constexpr std::string_view kOfMap = "\x81\xa6values";
  // EMPTY_DICT and BINUNICODE; then SETITEM in front of STOP.
  constexpr std::string_view kOfDict("}X\x06\0\0\0values", 12), kEnd = "s.";
  const std::string_view text = as_text(list);
  if (packing.contents == ValuePacking::Contents::lists) return std::string(kOfMap).append(text);
  const std::size_t begin = begin_of_pickle(text);
  if (text.size() < begin || !text.ends_with('.'))
    throw Error(Code::unsupported, "is a pickle that ends early");
  std::string dict(text.substr(0, 2));
  return dict.append(kOfDict).append(text.substr(begin, text.size() - begin - 1)).append(kEnd);
}

Packing packing_by_mark(Bytes head) {
  if (head.size() < 4) return Packing::none;
  const auto byte = [&](std::size_t i) { return std::to_integer<unsigned>(head[i]); };
  if (byte(0) == 0x1f && byte(1) == 0x8b && byte(2) == 8) return Packing::gzip;
  if (as_text(head).starts_with("\x28\xb5\x2f\xfd")) return Packing::zstd;
  if (as_text(head).starts_with("\x04\x22\x4d\x18")) return Packing::lz4;
  const bool is_zlib =
      (byte(0) & 0x0fU) == 8 && (byte(0) * 256 + byte(1)) % 31 == 0 && (byte(1) & 0x20U) == 0;
  return is_zlib ? Packing::zlib : Packing::none;
}

Bytes ValueDecoder::decode(const ValuePacking& how, std::uint64_t begin, std::uint64_t length) {
  if (how.is_block) return decode_block(begin, length);
  const Packing packing = how.packing;
  Decoder decoder(packing, most_bytes_);
  std::uint64_t at = begin;
  std::size_t filled = 0;
  while (true) {
    const std::uint64_t count = std::min(kPackedWindow, begin + length - at);
    if (filled == value_.size()) grow();
    const Bytes piece = count == 0 ? Bytes() : view_(at, count);
    const Decoder::Progress step = decoder.decode(piece, std::span(value_).subspan(filled));
    at += step.taken;
    filled += step.given;
    if (step.taken > 0 || step.given > 0) continue;
    if (count == 0 && decoder.may_end()) return Bytes(value_).first(filled);
    throw Error(Code::damaged, "compressed data ends early");
  }
}

Error ValueDecoder::too_large() const {
  return Error(Code::limit, "takes more than {} when it is decompressed, a quarter of the memory",
               format_size(most_bytes_))
      .hint("pass a larger --memory");
}

Bytes ValueDecoder::decode_block(std::uint64_t begin, std::uint64_t length) {
  if (length > most_bytes_) throw too_large();
  auto content = unpack_lz4_block(view_(begin, length), most_bytes_);
  if (!content) throw Error(Code::damaged, "is not a block of LZ4 behind its size");
  value_ = std::move(*content);
  return value_;
}

void ValueDecoder::grow() {
  if (value_.size() >= most_bytes_) throw too_large();
  value_.resize(std::min(most_bytes_, std::max<std::uint64_t>(value_.size() * 2, 64 << 10)));
}

ValuePacking packing_of(const ViewBytes& view, std::uint64_t begin, std::uint64_t length) {
  using Contents = ValuePacking::Contents;
  constexpr std::uint64_t kMostContent = 8 << 20, kHeadBytes = 64;
  const std::uint64_t head_bytes = std::min(length, kHeadBytes);
  Contents as_it_is = contents_by_mark(head_bytes == 0 ? Bytes() : view(begin, head_bytes));
  if (as_it_is == Contents::json) {
    const bool is_json = length <= kMostContent && parse_json(as_text(view(begin, length)));
    return {.contents = is_json ? as_it_is : Contents::other};
  }
  if (as_it_is == Contents::lists) {
    if (length <= kMostContent && is_one_msgpack(view, begin, length))
      return {.contents = as_it_is};
    as_it_is = Contents::other;
  }
  if (head_bytes < 4) return {};
  ValuePacking found{.packing = packing_by_mark(view(begin, head_bytes))};
  if (found.packing == Packing::none) {
    if (length > kMostContent) return {.contents = as_it_is};
    const auto content = unpack_lz4_block(view(begin, length), kMostContent);
    found.contents = content ? contents_by_mark(*content) : Contents::other;
    if (found.contents == Contents::lists) found.contents = Contents::other;  // says too little
    found.is_block = found.contents != Contents::other;
    if (!found.is_block) found.contents = as_it_is;
    return found;
  }
  // Only what it is compressed from tells whether that is of use.
  std::array<std::byte, kHeadBytes> beginning{};
  Decoder decoder(found.packing, kMostContent);
  const std::uint64_t count = std::min(length, kPackedWindow);
  const Decoder::Progress begun = decoder.decode(view(begin, count), beginning);
  found.contents = contents_by_mark(Bytes(beginning).first(begun.given));
  return found;
}

std::string ValuePacking::what_values_are() const {
  const std::string_view what = contents == Contents::pickles         ? "pickles"
                                : contents == Contents::maps          ? "msgpack maps"
                                : contents == Contents::lists         ? "msgpack lists"
                                : contents == Contents::pickled_lists ? "pickled lists"
                                : contents == Contents::datums ? "Datum messages with float_data"
                                                               : "JSON";
  if (!is_compressed()) return std::string(what);
  return fmt::format("{} that {} compressed with {}", what,
                     contents == Contents::json ? "is" : "are",
                     name_of(is_block ? Packing::lz4 : packing));
}

}  // namespace shale::layouts
