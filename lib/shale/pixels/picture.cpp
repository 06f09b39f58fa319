#include "shale/pixels/picture.hpp"

#include <algorithm>
#include <utility>

#include "shale/image/header_facts.hpp"

namespace shale {
namespace {

// Rounded a * b / 255 for bytes.
unsigned scaled_byte(unsigned a, unsigned b) {
  const unsigned product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

std::uint8_t over_white(unsigned level, unsigned alpha) {
  return static_cast<std::uint8_t>(scaled_byte(level, alpha) + 255 - alpha);
}

unsigned sample_at(const Picture& picture, const std::uint8_t* row, std::size_t i) {
  if (picture.bits <= 8) return row[i];
  return row[2 * i] | static_cast<unsigned>(row[2 * i + 1]) << 8;
}

// A sample of 8 or 16 bits of one whose full intensity is `top`.
unsigned in_bits(unsigned sample, std::uint32_t top, unsigned bits) {
  if (top == (1U << bits) - 1) return sample;
  if (bits == 8 && top == 65535) return sample >> 8;
  const std::uint64_t most = (1U << bits) - 1;
  return static_cast<unsigned>((std::min(sample, top) * most + top / 2) / top);
}

std::uint8_t to_byte(const Picture& picture, unsigned sample) {
  return static_cast<std::uint8_t>(in_bits(sample, picture.top_level, 8));
}

void palette_row(const Picture& picture, const std::uint8_t* row, std::uint8_t* into,
                 AlphaRule rule) {
  const std::size_t channels = picture.photo_channels();
  std::array<std::array<std::uint8_t, 3>, 256> colors{};
  for (std::size_t i = 0; i < picture.palette.size(); ++i) {
    const bool has_alpha = rule == AlphaRule::over_white && i < picture.palette_alpha.size();
    const unsigned alpha = has_alpha ? picture.palette_alpha[i] : 255U;
    for (std::size_t c = 0; c < 3; ++c) colors[i][c] = over_white(picture.palette[i][c], alpha);
  }
  for (std::size_t x = 0; x < picture.width; ++x) {
    for (std::size_t c = 0; c < channels; ++c) into[channels * x + c] = colors[row[x]][c];
  }
}

bool is_transparent(const Picture& picture, const std::uint8_t* row, std::size_t x) {
  if (!picture.transparent) return false;
  for (std::size_t c = 0; c < picture.channels; ++c) {
    if (sample_at(picture, row, x * picture.channels + c) != (*picture.transparent)[c])
      return false;
  }
  return true;
}

}  // namespace

void Picture::set_palette(std::vector<std::array<std::uint8_t, 3>> colors) {
  has_palette = true;
  palette = std::move(colors);
  palette.resize(std::min<std::size_t>(palette.size(), 256));
  is_gray_palette = std::all_of(palette.begin(), palette.end(), [](const auto& color) {
    return color[0] == color[1] && color[1] == color[2];
  });
}

void photo_row(const Picture& picture, std::uint64_t y, std::uint8_t* into, AlphaRule rule) {
  const std::uint8_t* row = picture.row(y);
  if (picture.has_palette) {
    palette_row(picture, row, into, rule);
    return;
  }
  const std::size_t channels = picture.channels, colors = picture.photo_channels();
  const bool has_alpha = rule == AlphaRule::over_white;
  if (channels == colors && picture.top_level == 255 && !(has_alpha && picture.transparent)) {
    std::copy_n(row, picture.row_bytes(), into);
    return;
  }
  for (std::size_t x = 0; x < picture.width; ++x) {
    const std::size_t at = x * channels;
    unsigned alpha = 255;
    if (has_alpha && channels > colors) {
      alpha = to_byte(picture, sample_at(picture, row, at + channels - 1));
    }
    if (has_alpha && is_transparent(picture, row, x)) alpha = 0;
    for (std::size_t c = 0; c < colors; ++c) {
      into[x * colors + c] = over_white(to_byte(picture, sample_at(picture, row, at + c)), alpha);
    }
  }
}

bool has_alpha(const Picture& picture) {
  return !picture.palette_alpha.empty() || picture.transparent ||
         (!picture.has_palette && picture.channels % 2 == 0);
}

void fine_row(const Picture& picture, std::uint64_t y, const FineShape& shape,
              std::uint16_t* into) {
  const std::uint8_t* const row = picture.row(y);
  const std::size_t channels = picture.channels, stored = picture.photo_channels();
  const std::size_t colors = shape.colors;
  const unsigned top = shape.top_level();
  const std::uint32_t top_of_samples = picture.has_palette ? 255 : picture.top_level;
  const auto level = [&](unsigned sample) { return in_bits(sample, top_of_samples, shape.bits); };
  for (std::size_t x = 0; x < picture.width; ++x) {
    std::array<unsigned, 3> color{};
    unsigned alpha = top;
    if (picture.has_palette) {
      const std::size_t i = row[x];
      for (std::size_t c = 0; c < stored && i < picture.palette.size(); ++c)
        color[c] = level(picture.palette[i][c]);
      if (i < picture.palette_alpha.size()) alpha = level(picture.palette_alpha[i]);
    } else {
      for (std::size_t c = 0; c < stored; ++c)
        color[c] = level(sample_at(picture, row, x * channels + c));
      if (channels > stored) alpha = level(sample_at(picture, row, x * channels + channels - 1));
      if (is_transparent(picture, row, x)) alpha = 0;
    }
    if (colors < stored) color[0] = luma_of(color[0], color[1], color[2]);
    if (colors > stored) color[1] = color[2] = color[0];
    for (std::size_t c = 0; c < colors; ++c, ++into) {
      *into = static_cast<std::uint16_t>(
          shape.has_alpha ? color[c] : (color[c] * alpha + top / 2) / top + top - alpha);
    }
    if (shape.has_alpha) *into++ = static_cast<std::uint16_t>(alpha);
  }
}

Picture blank_picture(std::uint32_t width, std::uint32_t height, unsigned channels, unsigned bits) {
  Picture picture;
  picture.width = width;
  picture.height = height;
  picture.channels = channels;
  picture.bits = bits;
  picture.top_level = (1U << bits) - 1;
  picture.samples.resize(picture.row_bytes() * picture.height);
  return picture;
}

DecodedPicture decode_picture(Bytes bytes, const ImageInfo& info, bool exact,
                              std::uint64_t limit_bytes) {
  switch (info.type) {
    case ImageType::jpeg:
      return decode_jpeg_exactly(bytes, info, limit_bytes);
    case ImageType::png:
      return decode_png(bytes, info);
    case ImageType::gif:
      return decode_gif(bytes, info);
    case ImageType::bmp:
      return decode_bmp(bytes, info);
    case ImageType::pnm:
      return decode_pnm(bytes, info);
    case ImageType::webp:
      return decode_webp(bytes, info);
    case ImageType::tiff:
      return decode_tiff(bytes, info, exact, limit_bytes);
    case ImageType::heic:
    case ImageType::avif:
      return decode_heif(bytes, info);
    case ImageType::unknown:
      break;
  }
  return {.picture = {}, .fault = damaged("an image of no known type")};
}

std::uint64_t picture_bytes(const ImageInfo& info) {
  const std::uint64_t pixels = std::uint64_t{info.width} * info.height;
  const std::uint64_t sample = info.bits > 8 ? 2 : 1;
  // Rows of the codec and its tables.
  const std::uint64_t codec = (std::uint64_t{64} << 10) + std::uint64_t{info.width} * 64;
  switch (info.type) {
    case ImageType::webp:  // pixels of four bytes, and in the codec as many for lossless ones
      return codec + pixels * 9 + (std::uint64_t{1} << 20);
    case ImageType::tiff:  // the raster of four bytes, a strip or tile of all pixels
      return codec + pixels * 4 * std::max<std::uint64_t>(info.bits / 8, 1) * 2;
    case ImageType::heic:
    case ImageType::avif:  // the pixels, as libheif has them too, its planes, and tiles of them
      return codec + pixels * sample * 16 + (std::uint64_t{8} << 20);
    default:
      break;
  }
  const bool is_single = info.color == "gray" || info.color == "palette" || info.color == "bilevel";
  const std::uint64_t channels = is_single ? 1 : info.color == "gray-alpha" ? 2 : 4;
  return codec + pixels * channels * sample;
}

}  // namespace shale
