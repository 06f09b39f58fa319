#include <algorithm>
#include <cstring>
#include <optional>

#include <gif_lib.h>

#include "shale/image/header_facts.hpp"
#include "shale/pixels/picture.hpp"

namespace shale {
namespace {

int read_gif_bytes(GifFileType* gif, GifByteType* into, int count) {
  auto& left = *static_cast<Bytes*>(gif->UserData);
  const std::size_t some = std::min(left.size(), static_cast<std::size_t>(std::max(count, 0)));
  std::memcpy(into, left.data(), some);
  left = left.subspan(some);
  return static_cast<int>(some);
}

struct GifReader {
  explicit GifReader(Bytes& left) { file = DGifOpen(&left, read_gif_bytes, &error); }
  ~GifReader() {
    int ignored = 0;
    if (file != nullptr) (void)DGifCloseFile(file, &ignored);
  }
  GifReader(const GifReader&) = delete;
  GifReader& operator=(const GifReader&) = delete;

  [[nodiscard]] DecodedPicture fault() const {
    const char* const said = GifErrorString(file != nullptr ? file->Error : error);
    return {.picture = {},
            .fault = damaged("does not decode as GIF: {}", said != nullptr ? said : "no frame")};
  }
  GifFileType* file = nullptr;
  int error = 0;
};

// Everything up to the first frame; the color that a control block names as transparent.
bool find_frame(GifFileType* gif, std::optional<unsigned>& transparent) {
  GifRecordType kind = UNDEFINED_RECORD_TYPE;
  while (DGifGetRecordType(gif, &kind) != GIF_ERROR) {
    if (kind == IMAGE_DESC_RECORD_TYPE) return DGifGetImageDesc(gif) != GIF_ERROR;
    if (kind == TERMINATE_RECORD_TYPE) return false;
    int code = 0;
    GifByteType* block = nullptr;
    if (kind != EXTENSION_RECORD_TYPE || DGifGetExtension(gif, &code, &block) == GIF_ERROR) {
      return false;
    }
    if (code == GRAPHICS_EXT_FUNC_CODE && block != nullptr && block[0] >= 4) {
      transparent.reset();
      if ((block[1] & 1U) != 0) transparent = block[4];
    }
    while (block != nullptr) {
      if (DGifGetExtensionNext(gif, &block) == GIF_ERROR) return false;
    }
  }
  return false;
}

void take_colors(Picture& picture, const GifFileType& gif) {
  const ColorMapObject* const map =
      gif.Image.ColorMap != nullptr ? gif.Image.ColorMap : gif.SColorMap;
  std::vector<std::array<std::uint8_t, 3>> colors;
  for (int i = 0; map != nullptr && i < map->ColorCount; ++i) {
    colors.push_back({map->Colors[i].Red, map->Colors[i].Green, map->Colors[i].Blue});
  }
  for (unsigned i = 0; map == nullptr && i < 256; ++i) {
    const auto level = static_cast<std::uint8_t>(i);
    colors.push_back({level, level, level});
  }
  picture.set_palette(std::move(colors));
}

}  // namespace

DecodedPicture decode_gif(Bytes bytes, const ImageInfo& info) {
  Bytes left = bytes;
  GifReader reader(left);
  if (reader.file == nullptr) return reader.fault();
  GifFileType* const gif = reader.file;
  std::optional<unsigned> transparent;
  if (!find_frame(gif, transparent)) return reader.fault();
  const GifImageDesc& frame = gif->Image;
  const bool fits = frame.Left >= 0 && frame.Top >= 0 && frame.Width > 0 && frame.Height > 0 &&
                    static_cast<std::uint32_t>(frame.Left + frame.Width) <= info.width &&
                    static_cast<std::uint32_t>(frame.Top + frame.Height) <= info.height;
  if (!fits)
    return {.picture = {},
            .fault = damaged("GIF frame of {} x {} pixels", frame.Width, frame.Height)};
  Picture picture = blank_picture(info.width, info.height, 1, 8);
  take_colors(picture, *gif);
  if (transparent) {
    picture.palette_alpha.assign(*transparent + 1, 255);
    picture.palette_alpha.back() = 0;
  }
  // What the frame does not cover shows the background.
  const auto background = static_cast<std::uint8_t>(
      transparent ? *transparent : static_cast<unsigned>(gif->SBackGroundColor));
  std::fill(picture.samples.begin(), picture.samples.end(), background);
  struct Pass {
    int first, step;
  };
  constexpr Pass kInterlaced[] = {{0, 8}, {4, 8}, {2, 4}, {1, 2}};
  constexpr Pass kPlain[] = {{0, 1}};
  const std::span<const Pass> passes =
      frame.Interlace ? std::span<const Pass>(kInterlaced) : std::span<const Pass>(kPlain);
  for (const Pass& pass : passes) {
    for (int y = pass.first; y < frame.Height; y += pass.step) {
      GifPixelType* const row =
          picture.row(static_cast<std::uint64_t>(frame.Top) + static_cast<std::uint64_t>(y)) +
          frame.Left;
      if (DGifGetLine(gif, row, frame.Width) == GIF_ERROR) return reader.fault();
    }
  }
  return {.picture = std::move(picture), .fault = {}};
}

}  // namespace shale
