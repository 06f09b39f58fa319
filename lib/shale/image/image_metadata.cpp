//  Where EXIF and ICC profile are:
//    JPEG  APP1 "Exif\0\0" + TIFF structure; APP2 "ICC_PROFILE\0" + u8 number + u8 of all + piece
//    PNG   eXIf; iCCP: name, 00, 00, zlib stream
//    WebP  "EXIF", "ICCP"
//    TIFF  orientation in tag 274, profile in tag 34675
//    HEIC, AVIF  by libheif, which turns the pixels itself
//  EXIF is a TIFF without pixels: tag 274 of its first directory is the orientation, 1 (upright)
//  to 8. Source: CIPA DC-008 4.6.5.1 and 4.7.2, ICC.1 annex B.4, PNG third edition 11.3.2.3 and
//  11.3.4.5, RFC 9649.

#include "shale/image/image_metadata.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "shale/base/error.hpp"
#include "shale/base/inflate.hpp"
#include "shale/image/header_facts.hpp"
#include "shale/image/header_view.hpp"
#include "shale/image/heif.hpp"
#include "shale/image/jpeg_segments.hpp"
#include "shale/image/tiff_directory.hpp"

namespace shale {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::uint64_t kMostBytes = std::uint64_t{4} << 20;  // of one block
constexpr std::string_view kExifName = "Exif\0\0"sv, kIccName = "ICC_PROFILE\0"sv;
constexpr unsigned kOrientationTag = 274;

std::vector<std::byte> copy_of(Bytes bytes) {
  if (bytes.size() > kMostBytes) return {};
  return {bytes.begin(), bytes.end()};
}

// Pieces of a profile are numbered from 1; they come in order in all files that anybody writes.
// Others are left out.
ImageMetadata of_jpeg(Bytes image) {
  const HeaderView view(image, std::endian::big);
  JpegSegments segments(image);
  ImageMetadata found;
  unsigned pieces = 0, all = 0;
  bool is_in_order = true;
  while (const auto segment = segments.next()) {
    if (segment->code == 0xDA) break;
    const Bytes payload = view.run(segment->payload, segment->end - segment->payload);
    if (segment->code == 0xE1 && found.exif.empty() && as_text(payload).starts_with(kExifName)) {
      found.exif = copy_of(payload.subspan(kExifName.size()));
    } else if (segment->code == 0xE2 && as_text(payload).starts_with(kIccName) &&
               payload.size() >= kIccName.size() + 2) {
      ++pieces;
      is_in_order = is_in_order && view.u8(segment->payload + kIccName.size()) == pieces;
      all = view.u8(segment->payload + kIccName.size() + 1);
      const Bytes piece = payload.subspan(kIccName.size() + 2);
      found.icc.insert(found.icc.end(), piece.begin(), piece.end());
    }
  }
  if (!is_in_order || pieces != all || found.icc.size() > kMostBytes) found.icc.clear();
  return found;
}

// The zlib stream of an iCCP chunk; nothing if it is damaged or too long.
std::vector<std::byte> inflated_profile(Bytes stream) {
  constexpr std::size_t kZlibHeader = 2;
  if (stream.size() <= kZlibHeader) return {};
  stream = stream.subspan(kZlibHeader);
  std::vector<std::byte> profile;
  std::array<std::byte, 16384> piece;
  try {
    Inflater inflater;
    for (;;) {
      const Inflater::Progress progress = inflater.inflate(stream, piece);
      profile.insert(profile.end(), piece.begin(),
                     piece.begin() + static_cast<std::ptrdiff_t>(progress.given));
      stream = stream.subspan(progress.taken);
      if (progress.has_ended) return profile;
      if (profile.size() > kMostBytes || (progress.given == 0 && progress.taken == 0)) return {};
    }
  } catch (const Error&) {
    return {};
  }
}

ImageMetadata of_png(Bytes image) {
  const HeaderView view(image, std::endian::big);
  ImageMetadata found;
  std::uint64_t at = 8;
  while (view.has(at, 12)) {
    const std::uint64_t length = view.u32(at);
    if (!view.has(at, length + 12) || view.holds(at + 4, "IEND")) break;
    const Bytes payload = view.run(at + 8, length);
    if (view.holds(at + 4, "eXIf") && found.exif.empty()) found.exif = copy_of(payload);
    if (view.holds(at + 4, "iCCP") && found.icc.empty()) {
      const auto end = std::find(payload.begin(), payload.end(), std::byte{0});
      const auto name = static_cast<std::size_t>(end - payload.begin());
      if (name + 2 < payload.size()) found.icc = inflated_profile(payload.subspan(name + 2));
    }
    at += length + 12;
  }
  return found;
}

ImageMetadata of_webp(Bytes image) {
  const HeaderView view(image);
  ImageMetadata found;
  std::uint64_t at = 12;
  while (view.has(at, 8)) {
    const std::uint64_t length = view.u32(at + 4);
    if (!view.has(at + 8, length)) break;
    const Bytes payload = view.run(at + 8, length);
    if (view.holds(at, "EXIF")) {
      const std::size_t skip = as_text(payload).starts_with(kExifName) ? kExifName.size() : 0;
      found.exif = copy_of(payload.subspan(skip));
    }
    if (view.holds(at, "ICCP")) found.icc = copy_of(payload);
    at += 8 + length + length % 2;
  }
  return found;
}

ImageMetadata of_heif(Bytes bytes) {
  const HeifImage image(bytes);
  ImageMetadata found{.exif = image.exif(kMostBytes), .icc = image.icc(kMostBytes)};
  reset_orientation(found.exif);
  return found;
}

// A profile has a type that TiffDirectory does not read as numbers ("undefined"): it stays behind.
ImageMetadata of_tiff(Bytes image) {
  const std::uint64_t orientation = TiffDirectory(image).number(kOrientationTag, 1);
  if (orientation < 2 || orientation > 8) return {};
  return {.exif = exif_of_orientation(static_cast<unsigned>(orientation)), .icc = {}};
}

}  // namespace

unsigned exif_orientation(Bytes tiff) {
  constexpr std::string_view kPrefixes[] = {"Exif\0\0"sv, "Exif\0\xFF"sv};
  for (const std::string_view prefix : kPrefixes) {
    if (HeaderView(tiff).holds(0, prefix)) tiff = tiff.subspan(prefix.size());
  }
  const HeaderView view(tiff);
  if (!view.holds(0, "II*\0"sv) && !view.holds(0, "MM\0*"sv)) return 1;
  const std::uint64_t orientation = TiffDirectory(tiff).number(kOrientationTag, 1);
  return orientation >= 1 && orientation <= 8 ? static_cast<unsigned>(orientation) : 1;
}

ImageMetadata read_metadata(Bytes image, ImageType type) {
  ImageMetadata found;
  if (type == ImageType::jpeg) found = of_jpeg(image);
  if (type == ImageType::png) found = of_png(image);
  if (type == ImageType::webp) found = of_webp(image);
  if (type == ImageType::tiff) found = of_tiff(image);
  if (type == ImageType::heic || type == ImageType::avif) found = of_heif(image);
  // What is not EXIF would be carried to files of another type, whose readers trust it.
  const std::string_view exif = as_text(found.exif);
  if (!exif.starts_with("II*\0"sv) && !exif.starts_with("MM\0*"sv)) found.exif.clear();
  return found;
}

std::vector<std::byte> exif_of_orientation(unsigned orientation) {
  ByteWriter exif;
  exif.write_text("II*\0"sv);
  exif.write<std::uint32_t>(8);  // the directory
  exif.write<std::uint16_t>(1);  // of one entry
  exif.write<std::uint16_t>(kOrientationTag);
  exif.write<std::uint16_t>(3);  // u16
  exif.write<std::uint32_t>(1);
  exif.write<std::uint32_t>(orientation);
  exif.write<std::uint32_t>(0);  // no further directory
  return exif.take();
}

void reset_orientation(std::vector<std::byte>& exif) {
  const auto values = TiffDirectory(exif).find(kOrientationTag);
  if (!values || values->width > 8 || values->offset > exif.size() ||
      values->width > exif.size() - values->offset) {
    return;
  }
  const bool is_big = !exif.empty() && exif[0] == std::byte{'M'};
  for (unsigned i = 0; i < values->width; ++i) {
    const bool is_low = i == (is_big ? values->width - 1 : 0);
    exif[values->offset + i] = std::byte{is_low ? std::uint8_t{1} : std::uint8_t{0}};
  }
}

bool is_profile_for(Bytes icc, unsigned channels) {
  constexpr std::uint64_t kHeader = 128, kColorSpace = 16;
  const HeaderView view(icc);
  return view.has(0, kHeader) && view.holds(kColorSpace, channels == 1 ? "GRAY" : "RGB ");
}

}  // namespace shale
