#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "shale/base/bytes.hpp"
#include "shale/image/rgb.hpp"

namespace shale {

/// One PNG on its way to RGB pixels, as RgbDecoder is for JPEG: open() reads the header, decode()
/// fills memory with (height, width, 3).
/// Pixels: those of Pillow's Image.open(...).convert("RGB"): gray is repeated, a palette looked up,
/// alpha and tRNS dropped, of 16 bits the upper 8 taken, gamma and color profiles not applied.
/// Source: Pillow 13.0 PngImagePlugin.py, Unpack.c, Convert.c; tests/interop compares.
class PngRgb {
 public:
  /// The bytes are borrowed until decode() is done. Nullopt if the content is not a PNG.
  /// Errors: Code::bad_content if the header is damaged, or the pixels need more than
  /// `limit_bytes`; Code::unsupported for gray of 16 bits without alpha, which Pillow clips instead
  /// of scaling.
  [[nodiscard]] static std::optional<PngRgb> open(Bytes bytes, std::uint64_t limit_bytes);

  PngRgb(PngRgb&&) noexcept;
  PngRgb& operator=(PngRgb&&) noexcept;
  ~PngRgb();

  [[nodiscard]] ImageExtent extent() const;
  /// 3 * width * height: what decode() fills.
  [[nodiscard]] std::uint64_t size() const;
  /// Fills `into`, which has exactly size() bytes. May be called once. Besides it takes memory for
  /// a few rows. Errors: Code::bad_content, with libpng's message as cause, for a file that is
  /// truncated or damaged anywhere; Code::bug if `into` has another size.
  void decode(std::span<std::byte> into) &&;

 private:
  struct Header;
  explicit PngRgb(std::unique_ptr<Header> header);

  std::unique_ptr<Header> header_;
};

}  // namespace shale
