#include <cstddef>
#include <cstdint>

#include "shale/image/probe.hpp"

// Any bytes are an image file as far as the probe and the decoders are concerned.
extern "C" int fuzz_image_probe(const std::uint8_t* data, std::size_t size) {
  const shale::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const shale::ImageInfo info = shale::probe_image(bytes, "n01/photo.JPEG");
  constexpr std::uint64_t kLimitBytes = 8 << 20;
  (void)shale::decode_and_discard(bytes, info.type, kLimitBytes);
  return 0;
}
