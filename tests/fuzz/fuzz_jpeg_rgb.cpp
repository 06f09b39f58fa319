#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/image/rgb.hpp"

// Any bytes are a JPEG: they fill exactly the room they asked for, or the error is a shale::Error.
extern "C" int fuzz_jpeg_rgb(const std::uint8_t* data, std::size_t size) {
  const shale::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  constexpr std::uint64_t kLimitBytes = 2 << 20;
  for (const shale::PixelOrder order : {shale::PixelOrder::hwc, shale::PixelOrder::chw}) {
    try {
      auto decoder = shale::RgbDecoder::open(bytes, kLimitBytes);
      if (!decoder) return 0;
      std::vector<std::byte> pixels(decoder->size());
      std::move(*decoder).decode(order, pixels);
    } catch (const shale::Error&) {
    }
  }
  return 0;
}
