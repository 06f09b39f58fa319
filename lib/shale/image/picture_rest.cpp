#include "shale/image/header_facts.hpp"
#include "shale/image/picture.hpp"
namespace shale {
DecodedPicture decode_gif(Bytes, const ImageInfo&) { return {{}, unsupported("GIF")}; }
DecodedPicture decode_bmp(Bytes, const ImageInfo&) { return {{}, unsupported("BMP")}; }
DecodedPicture decode_pnm(Bytes, const ImageInfo&) { return {{}, unsupported("PNM")}; }
DecodedPicture decode_webp(Bytes, const ImageInfo&) { return {{}, unsupported("WebP")}; }
DecodedPicture decode_tiff(Bytes, const ImageInfo&, bool, std::uint64_t) {
  return {{}, unsupported("TIFF")};
}
}  // namespace shale
