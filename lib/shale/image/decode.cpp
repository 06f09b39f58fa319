#include "shale/image/codecs.hpp"
#include "shale/image/probe.hpp"

namespace shale {

DecodeResult decode_and_discard(Bytes bytes, ImageType type, std::uint64_t limit_bytes) {
  if (type == ImageType::jpeg) return discard_jpeg(bytes, limit_bytes);
  if (type == ImageType::png) return discard_png(bytes, limit_bytes);
  return {};
}

}  // namespace shale
