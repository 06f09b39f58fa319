#include "shale/image/header_facts.hpp"
#include "shale/pixels/picture.hpp"

namespace shale {
namespace {

DecodedPicture too_short(std::uint64_t found) {
  return {.picture = {}, .fault = truncated("{} bytes, its PNM header needs more", found)};
}

// Bits, 1 is black.
bool read_bits(const HeaderView& view, std::uint64_t at, Picture& picture) {
  const std::uint64_t row_bytes = (std::uint64_t{picture.width} + 7) / 8;
  for (std::uint64_t y = 0; y < picture.height; ++y, at += row_bytes) {
    if (!view.has(at, row_bytes)) return false;
    for (std::uint64_t x = 0; x < picture.width; ++x) {
      const unsigned bit = view.u8(at + x / 8) >> (7 - x % 8) & 1U;
      picture.row(y)[x] = static_cast<std::uint8_t>(1 - bit);
    }
  }
  return true;
}

// Bytes, or 16 bits big-endian.
bool read_levels(const HeaderView& view, std::uint64_t at, Picture& picture) {
  const std::uint64_t bytes = picture.row_bytes() * picture.height;
  if (!view.has(at, bytes)) return false;
  const std::size_t flip = picture.sample_bytes() - 1;
  for (std::uint64_t i = 0; i < bytes; ++i) picture.samples[i ^ flip] = view.u8(at + i);
  return true;
}

// Decimal numbers; those of a bilevel image are single digits.
bool read_numbers(const HeaderView& view, std::uint64_t at, bool is_bilevel, Picture& picture) {
  const std::size_t width = picture.sample_bytes();
  const std::uint64_t count = std::uint64_t{picture.width} * picture.height * picture.channels;
  for (std::uint64_t i = 0; i < count; ++i) {
    at = skip_pnm_gap(view, at);
    if (!is_pnm_digit(view.u8(at))) return false;
    std::uint64_t level = 0;
    do {
      level = level * 10 + view.u8(at++) - std::uint64_t{'0'};
    } while (!is_bilevel && level <= picture.top_level && is_pnm_digit(view.u8(at)));
    if (level > picture.top_level) return false;
    if (is_bilevel) level = 1 - level;
    picture.samples[i * width] = static_cast<std::uint8_t>(level);
    if (width == 2) picture.samples[2 * i + 1] = static_cast<std::uint8_t>(level >> 8);
  }
  return true;
}

}  // namespace

DecodedPicture decode_pnm(Bytes bytes, const ImageInfo& info) {
  const HeaderView view(bytes);
  const PnmHeader pnm = read_pnm_fields(view);
  if (!pnm.fault.empty()) return {.picture = {}, .fault = pnm.fault};
  const bool is_bilevel = pnm.kind % 3 == 1;
  const unsigned bits = is_bilevel ? 1 : pnm.top_level > 255 ? 16 : 8;
  Picture picture = blank_picture(info.width, info.height, pnm.kind % 3 == 0 ? 3 : 1, bits);
  picture.top_level = static_cast<std::uint32_t>(pnm.top_level);
  const bool is_whole = pnm.kind <= 3
                            ? read_numbers(view, pnm.pixels_begin - 1, is_bilevel, picture)
                        : is_bilevel ? read_bits(view, pnm.pixels_begin, picture)
                                     : read_levels(view, pnm.pixels_begin, picture);
  if (!is_whole) return too_short(bytes.size());
  return {.picture = std::move(picture), .fault = {}};
}

}  // namespace shale
