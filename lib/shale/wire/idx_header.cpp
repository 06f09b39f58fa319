#include "shale/wire/idx_header.hpp"

#include <algorithm>
#include <utility>

#include "shale/data/dtype.hpp"

namespace shale {
namespace {

struct IdxType {
  std::uint8_t code;
  std::string_view descr;
};
constexpr IdxType kIdxTypes[] = {{0x08, "|u1"}, {0x09, "|i1"}, {0x0b, ">i2"},
                                 {0x0c, ">i4"}, {0x0d, ">f4"}, {0x0e, ">f8"}};
constexpr std::size_t kMagicBytes = 4, kSideBytes = 4;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 63U;

}  // namespace

std::optional<NpyHeader> idx_header_of(Bytes head) {
  const auto byte = [&](std::size_t i) { return std::to_integer<std::uint8_t>(head[i]); };
  if (head.size() < kMagicBytes || byte(0) != 0 || byte(1) != 0) return std::nullopt;
  const IdxType* const type = std::ranges::find(kIdxTypes, byte(2), &IdxType::code);
  const std::size_t axes = byte(3), length = kMagicBytes + axes * kSideBytes;
  if (type == std::end(kIdxTypes) || axes == 0 || head.size() < length) return std::nullopt;
  StoredDType stored = parse_stored_dtype(type->descr);
  NpyHeader header{
      .dtype = std::move(stored.dtype), .swaps = std::move(stored.swaps), .data_offset = length};
  std::uint64_t bytes = header.dtype.item_bytes();
  for (std::size_t at = kMagicBytes; at < length; at += kSideBytes) {
    const std::uint64_t side = read_big_endian(as_text(head.subspan(at, kSideBytes)));
    if (side > 0 && bytes > (kMostBytes - 1) / side) return std::nullopt;
    if (side > 0) bytes *= side;
    header.shape.push_back(side);
  }
  return header;
}

bool has_idx_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (std::size_t at = name.find("idx"); at != std::string_view::npos;
       at = name.find("idx", at + 1)) {
    const std::string_view axes = name.substr(at + 3, 2);
    if (axes.size() == 2 && axes[0] >= '1' && axes[0] <= '9' && axes[1] == '-') return true;
  }
  return false;
}

std::optional<NpyHeader> idx_header_of_file(Bytes head, std::uint64_t size, std::string_view path) {
  std::optional<NpyHeader> header = idx_header_of(head);
  if (!header) return std::nullopt;
  const bool is_as_long = size == header->data_offset + npy_data_bytes(*header);
  return is_as_long || has_idx_name(path) ? header : std::nullopt;
}

}  // namespace shale
