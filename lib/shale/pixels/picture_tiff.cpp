//  Gray, palette and RGB of 1 to 16 bits are read as they are stored (strips row by row, or tiles).
//  So are, where the values are wanted (exact), planes and colors that are multiplied with alpha.
//  What is rarer (CMYK, YCbCr, Lab ..., otherwise those too) becomes 8-bit RGB by libtiff's own
//  conversion, but not where the values are wanted.

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <tiffio.h>

#include "shale/image/header_facts.hpp"
#include "shale/pixels/picture.hpp"

namespace shale {
namespace {

// The file in memory, and libtiff's first objection. No handler of the process is touched.
struct TiffReader {
  TiffReader(Bytes bytes, std::uint64_t limit_bytes);
  ~TiffReader() {
    if (tiff != nullptr) TIFFClose(tiff);
  }
  TiffReader(const TiffReader&) = delete;
  TiffReader& operator=(const TiffReader&) = delete;

  [[nodiscard]] DecodedPicture fault() const {
    const char* const said = message[0] == '\0' ? "no reason given" : message.data();
    return {.picture = {}, .fault = damaged("does not decode as TIFF: {}", said)};
  }

  Bytes bytes;
  std::uint64_t at = 0;
  TIFF* tiff = nullptr;
  std::array<char, 200> message{};
};

TiffReader& reader_of(thandle_t handle) { return *static_cast<TiffReader*>(handle); }

tmsize_t read_tiff_bytes(thandle_t handle, void* into, tmsize_t count) {
  TiffReader& self = reader_of(handle);
  const std::uint64_t size = self.bytes.size(), at = std::min(self.at, size);
  const std::uint64_t some = std::min<std::uint64_t>(size - at, static_cast<std::uint64_t>(count));
  if (some != 0) std::memcpy(into, self.bytes.data() + at, some);
  self.at = at + some;
  return static_cast<tmsize_t>(some);
}

toff_t seek_tiff(thandle_t handle, toff_t offset, int whence) {
  TiffReader& self = reader_of(handle);
  if (whence == SEEK_CUR) offset += self.at;
  if (whence == SEEK_END) offset += self.bytes.size();
  self.at = offset;
  return offset;
}

int note_objection(TIFF*, void* user_data, const char*, const char* format, va_list arguments) {
  auto& self = *static_cast<TiffReader*>(user_data);
  if (self.message[0] == '\0') {
    (void)std::vsnprintf(self.message.data(), self.message.size(), format, arguments);
  }
  return 1;
}

TiffReader::TiffReader(Bytes of_bytes, std::uint64_t limit_bytes) : bytes(of_bytes) {
  TIFFOpenOptions* const options = TIFFOpenOptionsAlloc();
  if (options == nullptr) return;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options, static_cast<tmsize_t>(limit_bytes));
  TIFFOpenOptionsSetErrorHandlerExtR(options, note_objection, this);
  TIFFOpenOptionsSetWarningHandlerExtR(
      options, [](TIFF*, void*, const char*, const char*, va_list) { return 1; }, nullptr);
  tiff = TIFFClientOpenExt(
      "TIFF", "rm", this, read_tiff_bytes,
      [](thandle_t, void*, tmsize_t) -> tmsize_t { return -1; }, seek_tiff,
      [](thandle_t) { return 0; },
      [](thandle_t handle) -> toff_t { return reader_of(handle).bytes.size(); }, nullptr, nullptr,
      options);
  TIFFOpenOptionsFree(options);
}

struct TiffShape {
  std::uint32_t width = 0, height = 0;
  std::uint16_t bits = 1, samples = 1, photometric = PHOTOMETRIC_MINISBLACK;
  std::uint16_t planes = PLANARCONFIG_CONTIG, format = SAMPLEFORMAT_UINT;
  bool has_plain_alpha = false;   // one extra sample, colors are not multiplied with it
  bool has_scaled_alpha = false;  // one extra sample, and they are
  [[nodiscard]] bool is_gray() const {
    return photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
  }
  // True if the samples are read as they are.
  [[nodiscard]] bool is_plain(bool exact) const {
    const bool is_number = format == SAMPLEFORMAT_UINT || format == SAMPLEFORMAT_VOID;
    const bool is_depth = bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16;
    if (!is_number || !is_depth) return false;
    if (samples == 1) return is_gray() || (photometric == PHOTOMETRIC_PALETTE && bits <= 8);
    if (bits < 8 || (planes != PLANARCONFIG_CONTIG && !exact)) return false;
    const bool has_alpha = has_plain_alpha || (has_scaled_alpha && exact);
    if (photometric == PHOTOMETRIC_MINISBLACK) return samples == 2 && has_alpha;
    return photometric == PHOTOMETRIC_RGB && (samples == 3 || (samples == 4 && has_alpha));
  }
};

TiffShape shape_of_tiff(TIFF* tiff) {
  TiffShape shape;
  TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &shape.width);
  TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &shape.height);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_BITSPERSAMPLE, &shape.bits);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLESPERPIXEL, &shape.samples);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_PLANARCONFIG, &shape.planes);
  TIFFGetFieldDefaulted(tiff, TIFFTAG_SAMPLEFORMAT, &shape.format);
  TIFFGetField(tiff, TIFFTAG_PHOTOMETRIC, &shape.photometric);
  std::uint16_t extra = 0, *kinds = nullptr;
  TIFFGetFieldDefaulted(tiff, TIFFTAG_EXTRASAMPLES, &extra, &kinds);
  shape.has_plain_alpha = extra == 1 && kinds != nullptr && kinds[0] == EXTRASAMPLE_UNASSALPHA;
  shape.has_scaled_alpha = extra == 1 && kinds != nullptr && kinds[0] == EXTRASAMPLE_ASSOCALPHA;
  return shape;
}

// `count` pixels from packed samples to one or two bytes each.
void unpack_samples(const TiffShape& shape, const std::uint8_t* packed, std::uint64_t count,
                    std::uint8_t* into) {
  if (shape.bits >= 8) {
    std::memcpy(into, packed, count * shape.samples * (shape.bits / 8U));
  } else {
    const unsigned bits = shape.bits, per_byte = 8 / bits, most = (1U << bits) - 1;
    for (std::uint64_t i = 0; i < count; ++i) {
      const auto shift = static_cast<unsigned>(per_byte - 1 - i % per_byte) * bits;
      into[i] = static_cast<std::uint8_t>(packed[i / per_byte] >> shift & most);
    }
  }
  if (shape.photometric != PHOTOMETRIC_MINISWHITE) return;
  const auto flip = static_cast<std::uint8_t>(shape.bits >= 8 ? 255 : (1U << shape.bits) - 1);
  const std::uint64_t bytes = count * (shape.bits > 8 ? 2U : 1U);
  for (std::uint64_t i = 0; i < bytes; ++i) into[i] ^= flip;
}

// The picture's samples, or a plane of them.
struct TiffPlane {
  std::uint16_t number = 0, of = 1;
};

// `count` pixels of a plane, or of all that there is, into the pixels at `into`.
void take_samples(const TiffShape& shape, const TiffPlane& plane, const std::uint8_t* packed,
                  std::uint64_t count, std::uint8_t* into) {
  if (plane.of == 1) return unpack_samples(shape, packed, count, into);
  const std::size_t sample = shape.bits / 8U;
  for (std::uint64_t i = 0; i < count; ++i)
    std::memcpy(into + (i * plane.of + plane.number) * sample, packed + i * sample, sample);
}

// Colors as they were before they were multiplied with alpha, as far as that is known.
template <class Sample>
void divide_by_alpha(Picture& picture) {
  const std::size_t channels = picture.channels, values = picture.samples.size() / sizeof(Sample);
  const std::uint64_t top = picture.top_level;
  std::array<Sample, 4> pixel{};
  for (std::size_t i = 0; i < values; i += channels) {
    std::uint8_t* const at = picture.samples.data() + i * sizeof(Sample);
    std::memcpy(pixel.data(), at, channels * sizeof(Sample));
    const std::uint64_t alpha = pixel[channels - 1];
    for (std::size_t c = 0; c + 1 < channels && alpha != 0; ++c)
      pixel[c] = static_cast<Sample>(std::min(top, (pixel[c] * top + alpha / 2) / alpha));
    std::memcpy(at, pixel.data(), channels * sizeof(Sample));
  }
}

bool read_strips(TIFF* tiff, const TiffShape& shape, const TiffPlane& plane, Picture& picture) {
  const tmsize_t row_bytes = TIFFScanlineSize(tiff);
  const std::uint64_t samples = shape.samples / plane.of;
  const std::uint64_t needed = (picture.width * shape.bits * samples + 7) / 8;
  if (row_bytes <= 0 || static_cast<std::uint64_t>(row_bytes) < needed ||
      static_cast<std::uint64_t>(row_bytes) > needed + 64) {
    return false;
  }
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(row_bytes));
  for (std::uint32_t y = 0; y < picture.height; ++y) {
    if (TIFFReadScanline(tiff, packed.data(), y, plane.number) < 0) return false;
    take_samples(shape, plane, packed.data(), picture.width, picture.row(y));
  }
  return true;
}

bool read_tiles(TIFF* tiff, const TiffShape& shape, const TiffPlane& plane, Picture& picture,
                std::uint64_t limit_bytes) {
  std::uint32_t width = 0, height = 0;
  TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &width);
  TIFFGetField(tiff, TIFFTAG_TILELENGTH, &height);
  const tmsize_t size = TIFFTileSize(tiff), row_size = TIFFTileRowSize(tiff);
  if (width == 0 || height == 0 || size <= 0 || row_size <= 0 ||
      static_cast<std::uint64_t>(size) > limit_bytes ||
      static_cast<std::uint64_t>(row_size) * height > static_cast<std::uint64_t>(size) ||
      static_cast<std::uint64_t>(row_size) * 8 <
          std::uint64_t{width} * shape.bits * (shape.samples / plane.of)) {
    return false;
  }
  std::vector<std::uint8_t> tile(static_cast<std::size_t>(size));
  for (std::uint64_t top = 0; top < picture.height; top += height) {
    for (std::uint64_t left = 0; left < picture.width; left += width) {
      const tmsize_t read = TIFFReadTile(tiff, tile.data(), static_cast<std::uint32_t>(left),
                                         static_cast<std::uint32_t>(top), 0, plane.number);
      if (read < 0) return false;
      const std::uint64_t rows = std::min<std::uint64_t>(height, picture.height - top);
      const std::uint64_t count = std::min<std::uint64_t>(width, picture.width - left);
      for (std::uint64_t y = 0; y < rows; ++y) {
        take_samples(shape, plane, tile.data() + y * static_cast<std::uint64_t>(row_size), count,
                     picture.row(top + y) + left * picture.pixel_bytes());
      }
    }
  }
  return true;
}

void take_colormap(TIFF* tiff, const TiffShape& shape, Picture& picture) {
  std::uint16_t *red = nullptr, *green = nullptr, *blue = nullptr;
  std::vector<std::array<std::uint8_t, 3>> colors;
  if (TIFFGetField(tiff, TIFFTAG_COLORMAP, &red, &green, &blue) != 0) {
    for (std::size_t i = 0; i < std::size_t{1} << shape.bits; ++i) {
      colors.push_back({static_cast<std::uint8_t>(red[i] >> 8),
                        static_cast<std::uint8_t>(green[i] >> 8),
                        static_cast<std::uint8_t>(blue[i] >> 8)});
    }
  }
  picture.set_palette(std::move(colors));
}

// By libtiff's conversion: A B G R in a word, multiplied with alpha.
DecodedPicture read_converted(TiffReader& reader, const ImageInfo& info) {
  std::array<char, 1024> why{};
  TIFFRGBAImage image;
  if (TIFFRGBAImageOK(reader.tiff, why.data()) == 0) {
    return {.picture = {}, .fault = unsupported("TIFF: {}", why.data())};
  }
  if (TIFFRGBAImageBegin(&image, reader.tiff, 1, why.data()) == 0) return reader.fault();
  std::vector<std::uint32_t> raster(std::size_t{info.width} * info.height);
  image.orientation = image.req_orientation = ORIENTATION_TOPLEFT;  // pixels as stored
  const int was_read = TIFFRGBAImageGet(&image, raster.data(), info.width, info.height);
  TIFFRGBAImageEnd(&image);
  if (was_read == 0) return reader.fault();
  Picture picture = blank_picture(info.width, info.height, 3, 8);
  std::uint8_t* into = picture.samples.data();
  for (const std::uint32_t pixel : raster) {
    const unsigned white = 255 - TIFFGetA(pixel);
    for (const unsigned level : {TIFFGetR(pixel), TIFFGetG(pixel), TIFFGetB(pixel)}) {
      *into++ = static_cast<std::uint8_t>(std::min(level + white, 255U));
    }
  }
  return {.picture = std::move(picture), .fault = {}};
}

}  // namespace

DecodedPicture decode_tiff(Bytes bytes, const ImageInfo& info, bool exact,
                           std::uint64_t limit_bytes) {
  TiffReader reader(bytes, limit_bytes);
  if (reader.tiff == nullptr) return reader.fault();
  const TiffShape shape = shape_of_tiff(reader.tiff);
  if (shape.width != info.width || shape.height != info.height) {
    return {.picture = {}, .fault = damaged("TIFF whose directory names two sizes")};
  }
  if (!shape.is_plain(exact)) {
    if (!exact) return read_converted(reader, info);
    return {.picture = {},
            .fault = unsupported("TIFF of {} samples of {} bits{}, photometric {}, by its values",
                                 shape.samples, shape.bits,
                                 shape.format == SAMPLEFORMAT_IEEEFP ? " of floating point" : "",
                                 shape.photometric)};
  }
  Picture picture = blank_picture(info.width, info.height, shape.samples, shape.bits);
  if (shape.photometric == PHOTOMETRIC_PALETTE) take_colormap(reader.tiff, shape, picture);
  TiffPlane plane;
  if (shape.planes != PLANARCONFIG_CONTIG) plane.of = shape.samples;
  for (; plane.number < plane.of; ++plane.number) {
    const bool is_whole = TIFFIsTiled(reader.tiff) != 0
                              ? read_tiles(reader.tiff, shape, plane, picture, limit_bytes)
                              : read_strips(reader.tiff, shape, plane, picture);
    if (!is_whole) return reader.fault();
  }
  if (shape.has_scaled_alpha && picture.channels % 2 == 0) {
    shape.bits > 8 ? divide_by_alpha<std::uint16_t>(picture)
                   : divide_by_alpha<std::uint8_t>(picture);
  }
  return {.picture = std::move(picture), .fault = {}};
}

}  // namespace shale
