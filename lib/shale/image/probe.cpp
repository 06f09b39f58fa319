#include "shale/image/probe.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "shale/image/header_facts.hpp"
#include "shale/image/header_view.hpp"

namespace shale {
namespace {

struct Suffix {
  std::string_view text;
  ImageType type;
};
constexpr Suffix kSuffixes[] = {
    {".jpg", ImageType::jpeg},  {".jpeg", ImageType::jpeg}, {".jpe", ImageType::jpeg},
    {".jfif", ImageType::jpeg}, {".png", ImageType::png},   {".gif", ImageType::gif},
    {".bmp", ImageType::bmp},   {".dib", ImageType::bmp},   {".ppm", ImageType::pnm},
    {".pgm", ImageType::pnm},   {".pbm", ImageType::pnm},   {".pnm", ImageType::pnm},
    {".tif", ImageType::tiff},  {".tiff", ImageType::tiff}, {".webp", ImageType::webp},
};
constexpr std::string_view kFolderSuffixes[] = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                                ".pgm", ".tif",  ".tiff", ".webp"};

// As str.lower().endswith(): a file called just ".jpg" has the suffix, too.
bool ends_with(std::string_view name, std::string_view lower_suffix) {
  if (name.size() < lower_suffix.size()) return false;
  const std::string_view tail = name.substr(name.size() - lower_suffix.size());
  return std::equal(tail.begin(), tail.end(), lower_suffix.begin(), [](char in_name, char lower) {
    return (in_name >= 'A' && in_name <= 'Z' ? static_cast<char>(in_name - 'A' + 'a') : in_name) ==
           lower;
  });
}

// "BM" and "P3" begin many texts, so a BMP must continue with a valid header size, a PNM with
// white space.
bool begins_bmp(const HeaderView& view) {
  constexpr std::uint32_t kHeaderSizes[] = {12, 16, 40, 52, 56, 64, 108, 124};
  return view.holds(0, "BM") && std::find(std::begin(kHeaderSizes), std::end(kHeaderSizes),
                                          view.u32(14)) != std::end(kHeaderSizes);
}
bool begins_pnm(const HeaderView& view) {
  const std::uint8_t kind = view.u8(1), next = view.u8(2);
  return view.u8(0) == 'P' && kind >= '1' && kind <= '6' &&
         (next == ' ' || next == '#' || (next >= '\t' && next <= '\r'));
}
bool begins_tiff(const HeaderView& view) {
  using std::string_view_literals::operator""sv;
  return view.holds(0, "II*\0"sv) || view.holds(0, "MM\0*"sv) || view.holds(0, "II+\0"sv) ||
         view.holds(0, "MM\0+"sv);
}

ImageType type_of(const HeaderView& view) {
  if (view.holds(0, "\xFF\xD8\xFF")) return ImageType::jpeg;
  if (view.holds(0, "\x89PNG\r\n\x1A\n")) return ImageType::png;
  if (view.holds(0, "GIF87a") || view.holds(0, "GIF89a")) return ImageType::gif;
  if (view.holds(0, "RIFF") && view.holds(8, "WEBP")) return ImageType::webp;
  if (begins_tiff(view)) return ImageType::tiff;
  if (begins_bmp(view)) return ImageType::bmp;
  if (begins_pnm(view)) return ImageType::pnm;
  return ImageType::unknown;
}

HeaderFacts read_header(Bytes bytes, ImageType type) {
  switch (type) {
    case ImageType::jpeg:
      return read_jpeg_header(bytes);
    case ImageType::png:
      return read_png_header(bytes);
    case ImageType::gif:
      return read_gif_header(bytes);
    case ImageType::bmp:
      return read_bmp_header(bytes);
    case ImageType::pnm:
      return read_pnm_header(bytes);
    case ImageType::tiff:
      return read_tiff_header(bytes);
    case ImageType::webp:
      return read_webp_header(bytes);
    case ImageType::unknown:
      break;
  }
  HeaderFacts facts;
  facts.info.fault =
      bytes.empty() ? ImageFault{ImageFaultCode::empty, "is empty"}
                    : ImageFault{ImageFaultCode::unknown_type, "is not an image of a known type"};
  return facts;
}

std::vector<std::string_view> oddities(const HeaderFacts& facts, bool is_wrong_suffix) {
  const ImageInfo& info = facts.info;
  const std::string_view color = info.color;
  struct Claim {
    bool is_so;
    std::string_view name;
  };
  const Claim claims[] = {
      {facts.has_alpha || color == "gray-alpha" || color == "rgba", "alpha"},
      {color == "cmyk" || color == "ycck", "cmyk"},
      {info.orientation != 1, "exif-rotated"},
      {color == "gray" || color == "gray-alpha" || color == "bilevel", "gray"},
      {color == "palette", "palette"},
      {info.bits > 8, "sixteen-bit"},
      {facts.has_trailing_bytes, "trailing-bytes"},
      {is_wrong_suffix, "wrong-suffix"},
  };
  std::vector<std::string_view> odd;
  for (const Claim& claim : claims) {
    if (claim.is_so) odd.push_back(claim.name);
  }
  return odd;
}

}  // namespace

std::string_view name_of(ImageType type) {
  constexpr std::string_view kNames[] = {"unknown", "jpeg", "png",  "gif",
                                         "bmp",     "pnm",  "tiff", "webp"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view name_of(ImageFaultCode code) {
  constexpr std::string_view kNames[] = {
      "",          "empty",     "unknown-type", "truncated",       "no-pixels",   "damaged",
      "too-large", "too-small", "unsupported",  "missing-partner", "missing-row", "not-text"};
  return kNames[static_cast<std::size_t>(code)];
}

bool has_image_suffix(std::string_view name) {
  return std::any_of(std::begin(kFolderSuffixes), std::end(kFolderSuffixes),
                     [&](std::string_view suffix) { return ends_with(name, suffix); });
}

bool suffix_fits(std::string_view name, ImageType type) {
  for (const Suffix& suffix : kSuffixes) {
    if (ends_with(name, suffix.text)) return suffix.type == type;
  }
  return true;
}

ImageInfo probe_image(Bytes bytes, std::string_view name) {
  const ImageType type = type_of(HeaderView(bytes));
  HeaderFacts facts = read_header(bytes, type);
  facts.info.type = type;
  facts.info.odd = oddities(facts, type != ImageType::unknown && !suffix_fits(name, type));
  return std::move(facts.info);
}

ImageFault truncated_file(std::uint64_t found_bytes, std::uint64_t expected_bytes) {
  return truncated("{} bytes, its header says {}", found_bytes, expected_bytes);
}

ImageFault empty_frame(std::uint64_t width, std::uint64_t height) {
  return no_pixels("its header says {} x {}", width, height);
}

}  // namespace shale
