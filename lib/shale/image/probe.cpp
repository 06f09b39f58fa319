#include "shale/image/probe.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "shale/image/header_facts.hpp"
#include "shale/image/header_view.hpp"
#include "shale/image/heif.hpp"

namespace shale {
namespace {

constexpr std::string_view kFolderSuffixes[] = {".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".ppm",
                                                ".bmp", ".pgm",  ".tif", ".tiff", ".webp"};
// Of pictures that few readers decode, or of which they take the first alone.
constexpr std::string_view kFurtherSuffixes[] = {".gif", ".heic", ".heif", ".hif", ".avif"};

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

bool begins_gif(const HeaderView& view) {
  return view.holds(0, "GIF87a") || view.holds(0, "GIF89a");
}

// One of the brands that "ftyp" lists.
bool has_brand(const HeaderView& view, std::initializer_list<std::string_view> brands) {
  if (!view.holds(4, "ftyp")) return false;
  constexpr std::uint64_t kMostBytes = 256;
  const std::uint64_t box = HeaderView(view.run(0, 4), std::endian::big).u32(0);
  const std::uint64_t end = std::min({box, kMostBytes, view.size()});
  for (std::uint64_t at = 8; at + 4 <= end; at += at == 8 ? 8 : 4) {
    if (std::ranges::any_of(brands, [&](std::string_view one) { return view.holds(at, one); }))
      return true;
  }
  return false;
}
bool begins_avif(const HeaderView& view) { return has_brand(view, {"avif", "avis"}); }
bool begins_heic(const HeaderView& view) {
  return has_brand(view, {"heic", "heix", "hevc", "hevx", "heim", "heis", "mif1", "msf1"});
}

// A type of images: its name, the suffixes of its files, how they begin, and what reads them.
struct Kind {
  ImageType type;
  std::string_view name;
  std::array<std::string_view, 4> suffixes;
  bool (*begins)(const HeaderView& view);
  HeaderFacts (*read_header)(Bytes bytes);
};
constexpr Kind kKinds[] = {
    {ImageType::jpeg,
     "jpeg",
     {".jpg", ".jpeg", ".jpe", ".jfif"},
     [](const HeaderView& view) { return view.holds(0, "\xFF\xD8\xFF"); },
     read_jpeg_header},
    {ImageType::png,
     "png",
     {".png"},
     [](const HeaderView& view) { return view.holds(0, "\x89PNG\r\n\x1A\n"); },
     read_png_header},
    {ImageType::gif, "gif", {".gif"}, begins_gif, read_gif_header},
    {ImageType::webp,
     "webp",
     {".webp"},
     [](const HeaderView& view) { return view.holds(0, "RIFF") && view.holds(8, "WEBP"); },
     read_webp_header},
    {ImageType::tiff, "tiff", {".tif", ".tiff"}, begins_tiff, read_tiff_header},
    {ImageType::bmp, "bmp", {".bmp", ".dib"}, begins_bmp, read_bmp_header},
    {ImageType::avif, "avif", {".avif"}, begins_avif, read_heif_header},
    {ImageType::heic, "heic", {".heic", ".heif", ".hif"}, begins_heic, read_heif_header},
    {ImageType::pnm, "pnm", {".ppm", ".pgm", ".pbm", ".pnm"}, begins_pnm, read_pnm_header},
};

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
      {facts.is_float, "float"},
      {color == "gray" || color == "gray-alpha" || color == "bilevel", "gray"},
      {facts.has_more_pages, "pages"},
      {color == "palette", "palette"},
      {info.bits > 8 && !facts.is_float, "sixteen-bit"},
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

bool ImageInfo::is_odd(std::string_view what) const {
  return std::ranges::find(odd, what) != odd.end();
}

std::string_view name_of(ImageType type) {
  const auto* const kind = std::ranges::find(kKinds, type, &Kind::type);
  return kind == std::end(kKinds) ? "unknown" : kind->name;
}

std::string_view name_of(ImageFaultCode code) {
  constexpr std::string_view kNames[] = {
      "",          "empty",        "unknown-type", "truncated",       "no-pixels",   "damaged",
      "too-large", "too-small",    "unsupported",  "missing-partner", "missing-row", "not-text",
      "not-array", "damaged-input"};
  return kNames[static_cast<std::size_t>(code)];
}

bool has_image_suffix(std::string_view name) {
  return std::any_of(std::begin(kFolderSuffixes), std::end(kFolderSuffixes),
                     [&](std::string_view suffix) { return ends_with(name, suffix); });
}

bool has_decodable_suffix(std::string_view name) {
  return has_image_suffix(name) ||
         std::ranges::any_of(kFurtherSuffixes, [&](std::string_view suffix) {
           return ends_with(name, suffix) && (suffix == ".gif" || has_libheif());
         });
}

bool suffix_fits(std::string_view name, ImageType type) {
  for (const Kind& kind : kKinds) {
    for (const std::string_view suffix : kind.suffixes)
      if (!suffix.empty() && ends_with(name, suffix)) return kind.type == type;
  }
  return true;
}

ImageType image_type_of(Bytes head) {
  const HeaderView view(head);
  const auto* const kind =
      std::ranges::find_if(kKinds, [&](const Kind& one) { return one.begins(view); });
  return kind == std::end(kKinds) ? ImageType::unknown : kind->type;
}

ImageInfo probe_image(Bytes bytes, std::string_view name) {
  const HeaderView view(bytes);
  for (const Kind& kind : kKinds) {
    if (!kind.begins(view)) continue;
    HeaderFacts facts = kind.read_header(bytes);
    facts.info.type = kind.type;
    facts.info.odd = oddities(facts, !suffix_fits(name, kind.type));
    return std::move(facts.info);
  }
  ImageInfo info;
  info.fault = bytes.empty()
                   ? ImageFault{ImageFaultCode::empty, "is empty"}
                   : ImageFault{ImageFaultCode::unknown_type, "is not an image of a known type"};
  return info;
}

ImageFault truncated_file(std::uint64_t found_bytes, std::uint64_t expected_bytes) {
  return truncated("{} bytes, its header says {}", found_bytes, expected_bytes);
}

ImageFault empty_frame(std::uint64_t width, std::uint64_t height) {
  return no_pixels("its header says {} x {}", width, height);
}

}  // namespace shale
