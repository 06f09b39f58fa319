#include "shale/report/thumbnails.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/image/probe.hpp"
#include "shale/pixels/image_work.hpp"
#include "shale/pixels/image_writers.hpp"

namespace shale {
namespace {

constexpr unsigned kQuality = 80;
constexpr std::uint64_t kMostWork = std::uint64_t{128} << 20;
// A thumbnail carries the color profile of its image, which may be any size.
constexpr std::uint64_t kMostThumbnailBytes = std::uint64_t{128} << 10;
constexpr std::uint8_t kOverlayAlpha = 150;
constexpr std::uint64_t kLeastSide = 4;

struct WorkedImage {
  std::vector<std::byte> bytes;
  ImageFault fault;
  std::uint32_t width = 0, height = 0;
};

// What a rule makes of an image, all of its pixels decoded.
WorkedImage work_on(Bytes image, const ImageInfo& info, const ImageRule& rule, SharedBudget& work) {
  WorkedImage worked;
  const std::uint64_t limit = std::min(kMostWork, work.limit());
  const ImagePlan plan = plan_image(image, info, rule, limit);
  worked.fault = plan.fault;
  if (!plan.fault.empty()) return worked;
  if (plan.keeps_pixels) {
    const SharedBudget::Hold hold = work.acquire(limit);
    const DecodeResult decoded = decode_and_discard(image, info.type, limit);
    if (!decoded.fault.empty()) {
      worked.fault = {ImageFaultCode::damaged, decoded.fault};
      return worked;
    }
  }
  const SharedBudget::Hold hold = work.acquire(std::min(plan.work_bytes, limit));
  const ImageResult result = ImageWorker(rule).run(image, info, plan, worked.bytes);
  worked.fault = result.fault;
  worked.bytes.resize(result.fault.empty() ? result.bytes : 0);
  worked.bytes.shrink_to_fit();
  worked.width = plan.width;
  worked.height = plan.height;
  return worked;
}

bool is_damage(const ImageFault& fault) {
  return fault.code != ImageFaultCode::unsupported && fault.code != ImageFaultCode::too_large &&
         fault.code != ImageFaultCode::unknown_type;
}

ReportImage png_of(const Picture& picture) {
  ReportImage image{
      .bytes = {}, .media_type = "image/png", .width = picture.width, .height = picture.height};
  image.bytes.resize(most_png_bytes(picture.row_bytes(), picture.height, 0) + kPngWriterBytes / 64);
  image.bytes.resize(write_png(picture, {}, image.bytes));
  image.bytes.shrink_to_fit();
  return image;
}

// The colors of PASCAL VOC: the bits of a number, from the lowest on, are the highest of red, green
// and blue in turn. Source: VOClabelcolormap.m of the VOC devkit.
std::array<std::uint8_t, 3> color_of(unsigned value) {
  std::array<std::uint8_t, 3> color{};
  for (unsigned bit = 0; bit < 8; ++bit)
    color[bit % 3] |= static_cast<std::uint8_t>(((value >> bit) & 1U) << (7 - bit / 3));
  return color;
}

// One byte per pixel.
ReportImage overlay_of_values(Bytes values, std::uint32_t width, std::uint32_t height) {
  Picture picture = blank_picture(width, height, 1, 8);
  std::array<bool, 256> is_there{};
  for (std::size_t i = 0; i < picture.samples.size(); ++i) {
    picture.samples[i] = std::to_integer<std::uint8_t>(values[i]);
    is_there[picture.samples[i]] = true;
  }
  const bool is_binary = std::count(is_there.begin() + 1, is_there.end(), true) == 1;
  std::vector<std::array<std::uint8_t, 3>> colors(256);
  for (unsigned i = 0; i < 256; ++i)
    colors[i] = is_binary ? std::array<std::uint8_t, 3>{230, 40, 60} : color_of(i);
  picture.has_palette = true;
  picture.set_palette(std::move(colors));
  picture.palette_alpha.assign(256, kOverlayAlpha);
  picture.palette_alpha[0] = 0;
  return png_of(picture);
}

ReportImage overlay_of_colors(Bytes rgb, std::uint32_t width, std::uint32_t height) {
  Picture picture = blank_picture(width, height, 4, 8);
  for (std::size_t i = 0; i < std::size_t{width} * height; ++i) {
    std::uint8_t most = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      picture.samples[4 * i + c] = std::to_integer<std::uint8_t>(rgb[3 * i + c]);
      most = std::max(most, picture.samples[4 * i + c]);
    }
    picture.samples[4 * i + 3] = most == 0 ? 0 : kOverlayAlpha;
  }
  return png_of(picture);
}

// Where the channels of a picture lie in an array.
struct ArrayPicture {
  std::uint64_t height = 0, width = 0, channels = 1;
  bool is_planar = false;  // (channels, height, width)
};

bool is_channels(std::uint64_t size) { return size == 1 || size == 3 || size == 4; }

std::optional<ArrayPicture> picture_in(std::span<const std::uint64_t> shape) {
  ArrayPicture picture;
  if (shape.size() == 2) {
    picture = {shape[0], shape[1], 1, false};
  } else if (shape.size() == 3 && is_channels(shape[2])) {
    picture = {shape[0], shape[1], shape[2], false};
  } else if (shape.size() == 3 && is_channels(shape[0])) {
    picture = {shape[1], shape[2], shape[0], true};
  }
  if (picture.height < kLeastSide || picture.width < kLeastSide) return std::nullopt;
  return picture;
}

// The part of a side of `from` that pixel `i` of `to` shows.
std::array<std::uint64_t, 2> part_of(std::uint64_t i, std::uint64_t from, std::uint64_t to) {
  const std::uint64_t begin = i * from / to;
  return {begin, std::max(begin + 1, (i + 1) * from / to)};
}

// The mean of the finite numbers in a rectangle; NaN if there are none.
template <class At>
double mean_of(std::array<std::uint64_t, 2> down, std::array<std::uint64_t, 2> across, At&& at) {
  double sum = 0, count = 0;
  for (std::uint64_t y = down[0]; y < down[1]; ++y) {
    for (std::uint64_t x = across[0]; x < across[1]; ++x) {
      const double value = at(y, x);
      if (!std::isfinite(value)) continue;
      sum += value;
      ++count;
    }
  }
  return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Thumbnail make_thumbnail(Bytes image, const ImageInfo& info, std::uint32_t side,
                         bool applies_rotation, SharedBudget& work) {
  const ImageRule rule{.resize = Resize::longer,
                       .width = side,
                       .only_larger = true,
                       .encode = EncodeAs::jpeg,
                       .quality = kQuality,
                       .apply_rotation = applies_rotation,
                       .strip_metadata = true,
                       .depth = Depth::eight,
                       .alpha_over_white = true};
  WorkedImage worked = work_on(image, info, rule, work);
  Thumbnail thumbnail;
  if (!worked.fault.empty()) {
    thumbnail.problem = printable(worked.fault.text);
    thumbnail.is_damaged = is_damage(worked.fault);
  } else if (worked.bytes.size() > kMostThumbnailBytes) {
    thumbnail.problem =
        fmt::format("its thumbnail would take {}", format_size(worked.bytes.size()));
  } else {
    thumbnail.image = {.bytes = std::move(worked.bytes),
                       .media_type = "image/jpeg",
                       .width = worked.width,
                       .height = worked.height};
  }
  return thumbnail;
}

ReportOverlay make_overlay(const std::string& field, Bytes mask, std::uint32_t width,
                           std::uint32_t height, SharedBudget& work) {
  ReportOverlay overlay{.name = field, .image = {}, .problem = {}};
  const ImageInfo info = probe_image(mask, {});
  ImageRule rule{.resize = Resize::exact,
                 .width = width,
                 .height = height,
                 .encode = EncodeAs::raw,
                 .is_mask = true};
  WorkedImage worked = work_on(mask, info, rule, work);
  const bool has_values = worked.fault.empty();
  if (worked.fault.code == ImageFaultCode::unsupported) {
    rule.is_mask = false;
    worked = work_on(mask, info, rule, work);
  }
  if (!worked.fault.empty()) {
    overlay.problem = printable(worked.fault.text);
    return overlay;
  }
  overlay.image = has_values ? overlay_of_values(worked.bytes, width, height)
                             : overlay_of_colors(worked.bytes, width, height);
  return overlay;
}

bool is_picture(NumberKind kind, std::span<const std::uint64_t> shape) {
  return kind != NumberKind::none && picture_in(shape).has_value();
}

ReportImage draw_array(NumberKind kind, std::span<const std::uint64_t> shape, Bytes bytes,
                       std::uint32_t side) {
  const ArrayPicture from = picture_in(shape).value_or(ArrayPicture{});
  const std::size_t step = bytes_of_number(kind);
  // An index may claim sides whose product does not fit into 64 bits.
  const std::uint64_t limit = step == 0 ? 0 : bytes.size() / step;
  if (limit == 0 || from.height == 0 || from.width == 0 || from.height > limit / from.width ||
      from.height * from.width > limit / from.channels)
    return {};
  double low = 0, high = kind == NumberKind::boolean ? 1 : 255;
  if (kind != NumberKind::uint8 && kind != NumberKind::boolean) {
    low = HUGE_VAL;
    high = -HUGE_VAL;
    for_each_number(kind, bytes, [&](double value) {
      if (!std::isfinite(value)) return;
      low = std::min(low, value);
      high = std::max(high, value);
    });
  }
  const std::uint64_t longer = std::max(from.height, from.width);
  const auto scaled = [&](std::uint64_t of) {
    return static_cast<std::uint32_t>(
        longer <= side ? of : std::max<std::uint64_t>(1, of * side / longer));
  };
  Picture picture = blank_picture(scaled(from.width), scaled(from.height),
                                  static_cast<unsigned>(from.channels), 8);
  const std::uint64_t across_step = from.is_planar ? 1 : from.channels;
  const std::uint64_t channel_step = from.is_planar ? from.height * from.width : 1;
  std::uint8_t* next = picture.samples.data();
  for (std::uint32_t y = 0; y < picture.height; ++y) {
    for (std::uint32_t x = 0; x < picture.width; ++x) {
      for (std::uint64_t c = 0; c < from.channels; ++c) {
        const double value =
            mean_of(part_of(y, from.height, picture.height), part_of(x, from.width, picture.width),
                    [&](std::uint64_t at_y, std::uint64_t at_x) {
                      const std::uint64_t element =
                          (at_y * from.width + at_x) * across_step + c * channel_step;
                      double number = 0;
                      for_each_number(kind, bytes.subspan(element * step, step),
                                      [&](double one) { number = one; });
                      return number;
                    });
        const double part = high > low ? (value - low) / (high - low) : 0;
        *next++ = part > 0 ? static_cast<std::uint8_t>(std::lround(std::min(1.0, part) * 255)) : 0;
      }
    }
  }
  return png_of(picture);
}

}  // namespace shale
