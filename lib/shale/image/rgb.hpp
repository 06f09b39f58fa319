#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "shale/base/bytes.hpp"

namespace shale {

struct ImageExtent {
  std::uint32_t width = 0, height = 0;  ///< pixels, as stored (before EXIF rotation)
};
/// How the bytes of an RGB image lie in memory: (height, width, 3) or (3, height, width), C order.
enum class PixelOrder { hwc, chw };

/// One JPEG on its way to RGB pixels: open() reads its header, so that the caller can allocate
/// memory; decode() fills it. One object per image, one thread at a time; nothing is shared between
/// objects.
/// Pixels: those of Pillow's Image.open(...).convert("RGB"), whose choices these are: accurate
/// integer DCT, smooth chroma upsampling, CMYK and YCCK taken as inverted (Adobe's way), EXIF
/// orientation not applied, the first image of a file that holds several. Equal on the same
/// libjpeg-turbo; another version may differ by 1 in where it rounds.
/// Source: Pillow 13.0 JpegImagePlugin.py, JpegDecode.c, Convert.c; tests/interop compares.
class RgbDecoder {
 public:
  /// Reads the header. The bytes are borrowed until decode() is done.
  /// Returns nullopt if the content is not a JPEG (it does not begin with FF D8 FF).
  /// Errors: Code::bad_content if the header is damaged, is of a kind that libjpeg-turbo does not
  /// decode to RGB (12 bits, lossless, two channels), or if the pixels need more than
  /// `limit_bytes`. std::bad_alloc.
  [[nodiscard]] static std::optional<RgbDecoder> open(Bytes bytes, std::uint64_t limit_bytes);

  RgbDecoder(RgbDecoder&&) noexcept;
  RgbDecoder& operator=(RgbDecoder&&) noexcept;
  ~RgbDecoder();

  [[nodiscard]] ImageExtent extent() const;
  /// 3 * width * height: what decode() fills.
  [[nodiscard]] std::uint64_t size() const;

  /// Fills `into`, which has exactly size() bytes. May be called once: std::move(decoder).decode().
  /// Besides `into` it takes memory for a few rows; for a progressive JPEG all coefficients, at
  /// most `limit_bytes`.
  /// Errors: Code::bad_content, with libjpeg's message as cause, if the file is truncated before
  /// its last pixel or is damaged beyond what libjpeg patches over (as Pillow, it takes smaller
  /// damage for gray patches; `decode_and_discard` tells), or if it needs more than `limit_bytes`
  /// or has more than 500 scans; `into` is then filled in part. Code::bug if `into` has another
  /// size.
  void decode(PixelOrder order, std::span<std::byte> into) &&;

 private:
  struct Header;
  explicit RgbDecoder(std::unique_ptr<Header> header);

  std::unique_ptr<Header> header_;
};

/// A PNG as RGB pixels, (height, width, 3): reads the header, asks `room` for memory of 3 * width *
/// height bytes, fills it. False, and nothing was asked, if the content is not a PNG. Besides it
/// takes memory for a few rows.
/// Pixels: those of Pillow's Image.open(...).convert("RGB"): gray is repeated, a palette looked up,
/// alpha and tRNS dropped, of 16 bits the upper 8 taken, gamma and color profiles not applied.
/// Errors: Code::bad_content if the file is truncated or damaged anywhere, with libpng's message as
/// cause, or the pixels need more than `limit_bytes`; Code::unsupported for gray of 16 bits without
/// alpha, which Pillow clips instead of scaling; Code::bug for room of another size; those of
/// `room`. Thread-safe.
/// Source: Pillow 13.0 PngImagePlugin.py, Unpack.c, Convert.c; tests/interop compares.
[[nodiscard]] bool decode_png_rgb(Bytes bytes, std::uint64_t limit_bytes,
                                  const std::function<std::span<std::byte>(ImageExtent)>& room);

}  // namespace shale
