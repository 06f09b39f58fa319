//  HEIC, AVIF (big-endian) boxes, one behind the other, of which the first is "ftyp"
//  box                     u32 bytes with this header, 4 letters; bytes 1: then u64 bytes;
//                          bytes 0: to the end of the file
//  "ftyp"                  4 letters of the brand, u32 version, 4 letters of each further brand
//  Source: ISO/IEC 14496-12, 23008-12. What is in the boxes is libheif's to read.

#include "shale/image/header_facts.hpp"
#include "shale/image/header_view.hpp"
#include "shale/image/heif.hpp"

namespace shale {
namespace {

// Where the boxes end; `needed`: as far as the last of them reaches.
std::uint64_t end_of_boxes(const HeaderView& view, std::uint64_t& needed) {
  std::uint64_t at = 0;
  while (view.has(at, 8)) {
    std::uint64_t bytes = view.u32(at);
    if (bytes == 1) bytes = view.u64(at + 8);
    if (bytes == 0) bytes = view.size() - at;
    if (bytes < 8) break;
    needed = bytes > ~std::uint64_t{0} - at ? ~std::uint64_t{0} : at + bytes;
    if (needed > view.size()) break;
    at = needed;
  }
  return at;
}

}  // namespace

HeaderFacts read_heif_header(Bytes bytes) {
  const HeaderView view(bytes, std::endian::big);
  HeaderFacts facts;
  ImageInfo& info = facts.info;
  info.color = "ycc";
  std::uint64_t needed = 0;
  const std::uint64_t end = end_of_boxes(view, needed);
  if (needed > bytes.size()) {
    info.fault = truncated_file(bytes.size(), needed);
    return facts;
  }
  facts.has_trailing_bytes = end < bytes.size();
  if (!has_libheif()) {
    info.fault = unsupported("HEIC and AVIF take libheif (libheif.so.1), which is not installed");
    return facts;
  }
  const HeifImage image(bytes);
  if (!image.objection().empty()) {
    info.fault = damaged("{}", image.objection());
    return facts;
  }
  info.width = image.width;
  info.height = image.height;
  info.bits = image.bits;
  facts.has_alpha = image.has_alpha;
  facts.has_more_pages = image.has_more_images;
  if (info.width == 0 || info.height == 0) info.fault = empty_frame(info.width, info.height);
  return facts;
}

}  // namespace shale
