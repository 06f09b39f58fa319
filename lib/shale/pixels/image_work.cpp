#include "shale/pixels/image_work.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/image/codecs.hpp"
#include "shale/image/header_facts.hpp"
#include "shale/image/image_metadata.hpp"
#include "shale/pixels/fine_scaler.hpp"
#include "shale/pixels/image_writers.hpp"
#include "shale/pixels/jpeg_frame_reader.hpp"
#include "shale/pixels/picture.hpp"
#include "shale/pixels/scaled_frame.hpp"

namespace shale {
namespace {

// The first thing in codec_versions(): goes up when the filters' bytes change.
constexpr int kFilterVersion = 1;

constexpr std::uint32_t kMostJpegSide = 65500;  // JPEG_MAX_DIMENSION

// JPEG stays JPEG and PNG stays PNG if nothing else is wanted; a mask never becomes a JPEG.
ImageType result_type(const ImageInfo& info, const ImageRule& rule) {
  switch (rule.encode) {
    case EncodeAs::raw:
      return ImageType::unknown;
    case EncodeAs::png:
      return ImageType::png;
    case EncodeAs::jpeg:
      return ImageType::jpeg;
    case EncodeAs::keep:
      break;
  }
  return info.type == ImageType::jpeg && !rule.is_mask ? ImageType::jpeg : ImageType::png;
}

bool needs_encoding(const ImageInfo& info, const ImageRule& rule, const ImageGeometry& geometry) {
  if (geometry.changes_pixels() || rule.encode == EncodeAs::raw) return true;
  if (!rule.is_mask && rule.depth == Depth::eight && info.bits > 8) return true;
  if (!rule.is_mask && rule.depth == Depth::sixteen && info.bits <= 8) return true;
  if (!rule.is_mask && rule.alpha_over_white && info.is_odd("alpha")) return true;
  if (!rule.is_mask && rule.color != Color::keep &&
      (rule.color == Color::gray) != info.is_odd("gray"))
    return true;
  if (rule.encode == EncodeAs::jpeg) return info.type != ImageType::jpeg;
  if (rule.encode == EncodeAs::png) return info.type != ImageType::png;
  // A TIFF's metadata cannot be dropped without writing it again.
  return rule.strip_metadata && info.type == ImageType::tiff;
}

// EXIF and ICC of the source as they belong into the result.
ImageMetadata carried_metadata(Bytes image, const ImageInfo& info, const ImageRule& rule,
                               const ImageGeometry& geometry, unsigned channels) {
  if (rule.encode == EncodeAs::raw) return {};
  ImageMetadata metadata = read_metadata(image, info.type);
  if (rule.strip_metadata) {
    metadata.exif.clear();
    if (info.orientation != 1) metadata.exif = exif_of_orientation(info.orientation);
  }
  if (rule.apply_rotation) {
    if (rule.strip_metadata) metadata.exif.clear();
    reset_orientation(metadata.exif);
  }
  if (geometry.turn != 1 && metadata.exif.size() == exif_of_orientation(1).size()) {
    metadata.exif.clear();  // it said nothing else
  }
  if (!is_profile_for(metadata.icc, channels)) metadata.icc.clear();
  return metadata;
}

JpegFrame jpeg_frame(const ImageGeometry& geometry, const ImageRule& rule, const JpegRoute& route) {
  return {.width = geometry.width,
          .height = geometry.height,
          .is_rgb = false,
          .chroma_across = route.chroma_across,
          .chroma_down = route.chroma_down,
          .quality = rule.quality};
}

// Memory and bytes of writing `channels` planes as `type`.
void count_writer(ImagePlan& plan, const JpegFrame& frame, unsigned channels,
                  std::uint64_t metadata_bytes) {
  const std::uint64_t row_bytes = std::uint64_t{plan.width} * channels;
  plan.work_bytes += metadata_bytes;
  switch (plan.type) {
    case ImageType::jpeg:
      plan.work_bytes += jpeg_writer_bytes(frame);
      plan.most_output_bytes = most_jpeg_bytes(frame, channels, metadata_bytes);
      break;
    case ImageType::png:
      plan.work_bytes += kPngWriterBytes + row_bytes * 8;
      plan.most_output_bytes = most_png_bytes(row_bytes, plan.height, metadata_bytes);
      break;
    default:
      plan.most_output_bytes = std::uint64_t{plan.width} * plan.height * plan.channels;
      break;
  }
}

std::uint32_t padding_of(ImageType type) { return type == ImageType::jpeg ? kJpegPadding : 1; }

// Raw pixels repeat gray themselves.
bool becomes_gray(const ImageRule& rule) {
  return rule.encode == EncodeAs::raw ? rule.raw_is_gray : rule.color == Color::gray;
}

unsigned written_channels(const ImageRule& rule, unsigned stored) {
  if (rule.color != Color::keep) return rule.color == Color::gray ? 1 : 3;
  return stored == 1 ? 1 : 3;
}

// Of gray that becomes three planes.
std::uint64_t repeated_bytes(const ImagePlan& plan) {
  return 2 * Plane::size_of(plan.height, plan.width, padding_of(plan.type));
}

void plan_jpeg(ImagePlan& plan, Bytes image, const ImageRule& rule, std::uint64_t metadata_bytes) {
  const JpegShape shape = read_jpeg_shape(image);
  plan.fault = shape.fault;
  if (!plan.fault.empty()) return;
  const bool to_jpeg = plan.type == ImageType::jpeg;
  // The Y of a JPEG is its gray.
  plan.route = jpeg_route(shape, plan.geometry, to_jpeg, becomes_gray(rule));
  plan.work_bytes = jpeg_frame_bytes(shape, plan.geometry, plan.route, padding_of(plan.type));
  count_writer(plan, jpeg_frame(plan.geometry, rule, plan.route),
               written_channels(rule, shape.channels), metadata_bytes);
  if (rule.color == Color::rgb && shape.channels == 1) plan.work_bytes += repeated_bytes(plan);
}

void plan_picture(ImagePlan& plan, const ImageInfo& info, const ImageRule& rule,
                  std::uint64_t metadata_bytes) {
  plan.work_bytes = picture_bytes(info) + std::uint64_t{info.width} * 3 +
                    RowScaler::memory_of(plan.geometry, 3, padding_of(plan.type));
  JpegRoute route;
  route.chroma_across = route.chroma_down = 2;
  count_writer(plan, jpeg_frame(plan.geometry, rule, route), 3, metadata_bytes);
  if (rule.color == Color::rgb) plan.work_bytes += repeated_bytes(plan);
}

// Which of its values an image keeps, and whether the result can hold them.
void plan_depth(ImagePlan& plan, const ImageInfo& info, const ImageRule& rule) {
  const bool has_alpha = info.is_odd("alpha"), is_deep = info.bits > 8;
  const bool is_raw = rule.encode == EncodeAs::raw;
  if (rule.is_mask) {
    if (is_raw && is_deep && rule.raw_bytes == 1) plan.misfit = Misfit::depth;
  } else {
    const bool is_wide = rule.depth == Depth::keep ? is_deep : rule.depth == Depth::sixteen;
    if (is_raw ? is_wide != (rule.raw_bytes > 1) : is_wide && plan.type == ImageType::jpeg)
      plan.misfit = Misfit::depth;
    plan.keeps_alpha = has_alpha && plan.type == ImageType::png && !rule.alpha_over_white;
    plan.loses_alpha = has_alpha && !plan.keeps_alpha;
    plan.loses_depth = is_deep && !is_wide;
    if (is_wide || plan.keeps_alpha) plan.fine_bits = is_wide ? 16 : 8;
  }
  if (plan.misfit == Misfit::depth) {
    plan.fault = {ImageFaultCode::unsupported,
                  fmt::format("has {} bits a channel, and {} {}", info.bits,
                              is_raw ? "the raw pixels of this output have" : "a JPEG holds",
                              is_raw ? rule.raw_bytes * 8 : 8)};
  }
}

// Raw pixels are all alike.
void plan_raw(ImagePlan& plan, const ImageInfo& info, const ImageRule& rule) {
  plan.channels = rule.raw_channels();
  const bool has_colors = !rule.is_mask && !info.is_odd("gray");
  if (rule.raw_width != 0 && (plan.width != rule.raw_width || plan.height != rule.raw_height)) {
    plan.misfit = Misfit::size;
    plan.fault = {ImageFaultCode::unsupported,
                  fmt::format("{} {} x {} pixels, and the raw pixels of this output have {} x {}",
                              plan.geometry.changes_pixels() ? "becomes" : "has", plan.width,
                              plan.height, rule.raw_width, rule.raw_height)};
  } else if (has_colors && rule.raw_is_gray && rule.color == Color::keep) {
    plan.misfit = Misfit::color;
    plan.fault = {ImageFaultCode::unsupported,
                  "has colors, and the raw pixels of this output are gray"};
  }
}

// Of what is worked on with its own values.
void plan_fine(ImagePlan& plan, const ImageInfo& info, std::uint64_t metadata_bytes) {
  constexpr unsigned kMostChannels = 4;
  plan.work_bytes = picture_bytes(info) + metadata_bytes + kPngWriterBytes +
                    fine_scaler_bytes(plan.geometry, info.width, info.height, kMostChannels);
  const std::uint64_t row_bytes = std::uint64_t{plan.width} * kMostChannels * (plan.fine_bits / 8);
  plan.most_output_bytes = plan.type == ImageType::png
                               ? most_png_bytes(row_bytes, plan.height, metadata_bytes)
                               : std::uint64_t{plan.width} * plan.height * plan.channels * 2;
}

void check_extent(ImagePlan& plan, const ImageInfo& info) {
  const std::uint64_t pixels = std::uint64_t{info.width} * info.height;
  const std::uint64_t result = std::uint64_t{plan.width} * plan.height;
  const ImageGeometry& geometry = plan.geometry;
  if (pixels > kMostImagePixels) {
    plan.fault = too_large("{} x {} pixels, image work takes {} at most{}", info.width, info.height,
                           kMostImagePixels,
                           plan.type == ImageType::unknown
                               ? ""
                               : "; without it, or with --on-error keep, its bytes are taken");
  } else if (plan.width == 0) {
    plan.fault = {ImageFaultCode::too_small,
                  fmt::format("is too small for the crop: {} x {} pixels", geometry.scaled_width,
                              geometry.scaled_height)};
  } else if (result > kMostImagePixels) {
    plan.fault = too_large("a result of {} x {} pixels, {} are allowed", plan.width, plan.height,
                           kMostImagePixels);
  } else if (plan.type == ImageType::jpeg && std::max(plan.width, plan.height) > kMostJpegSide) {
    plan.fault = too_large("a result of {} x {} pixels, a JPEG has {} a side at most", plan.width,
                           plan.height, kMostJpegSide);
  }
}

void plan_strip(ImagePlan& plan, Bytes image, const ImageInfo& info) {
  if (!has_strippable_metadata(image, info)) return;
  plan.keeps_bytes = false;
  // A copy; an EXIF block with the orientation may be new.
  plan.work_bytes = plan.most_output_bytes = image.size() + 256;
}

// How far apart raw values are, in values: of neighbouring pixels, and of the channels of one.
struct RawSteps {
  std::size_t pixel, channel;
};

RawSteps raw_steps(const ImageRule& rule, std::size_t pixels) {
  if (rule.raw_is_planar) return {.pixel = 1, .channel = pixels};
  return {.pixel = rule.raw_channels(), .channel = 1};
}

// Gray is repeated.
std::uint64_t write_raw(const Picture& picture, const ImageRule& rule, std::byte* into) {
  const std::size_t sample = picture.sample_bytes(), step = picture.channels == 1 ? 0 : sample;
  const std::size_t pixels = std::size_t{picture.width} * picture.height;
  const RawSteps steps = raw_steps(rule, pixels);
  const std::byte* from = reinterpret_cast<const std::byte*>(picture.samples.data());
  for (std::size_t i = 0; i < pixels; ++i, from += picture.pixel_bytes()) {
    for (std::size_t c = 0; c < rule.raw_channels(); ++c)
      std::memcpy(into + (i * steps.pixel + c * steps.channel) * sample, from + c * step, sample);
  }
  return pixels * rule.raw_channels() * sample;
}

void write_raw(const ScaledFrame& frame, const ImageRule& rule, std::byte* into) {
  const std::size_t width = frame.planes[0].width, height = frame.planes[0].height;
  const RawSteps steps = raw_steps(rule, width * height);
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t c = 0; c < rule.raw_channels(); ++c) {
      const Plane& plane = frame.planes[frame.planes.size() == 1 ? 0 : c];
      const std::uint8_t* const row = plane.row(y);
      std::byte* const pixels = into + y * width * steps.pixel + c * steps.channel;
      for (std::size_t x = 0; x < width; ++x) pixels[steps.pixel * x] = std::byte{row[x]};
    }
  }
}

// The channels that the rule asks for; raw pixels repeat gray themselves.
void set_color(ScaledFrame& frame, const ImageRule& rule) {
  if (becomes_gray(rule) && frame.planes.size() == 3) {
    if (!frame.is_ycc) rgb_to_gray(frame.planes);
    frame.planes.resize(1);
    frame.is_ycc = false;
  } else if (rule.color == Color::rgb && rule.encode != EncodeAs::raw && frame.planes.size() == 1) {
    frame.planes.resize(3, frame.planes[0]);
  }
}

constexpr std::uint64_t kMostMaskPixelBytes = 8;

PlaneShape shape_of_picture(const ImageInfo& info) {
  PlaneShape shape;
  shape.width = info.width;
  shape.height = info.height;
  return shape;
}

// The pixels of `from` at the places that the result takes them from.
void pick_pixels(const Picture& from, const ImageGeometry& geometry, const ImageInfo& info,
                 Picture& into) {
  const PlaneShape shape = shape_of_picture(info);
  const std::vector<std::uint32_t> across = nearest_samples(across_axis(geometry, shape));
  const std::vector<std::uint32_t> down = nearest_samples(down_axis(geometry, shape));
  const bool is_turned = geometry.turn >= 5;
  const std::size_t pixel = from.pixel_bytes();
  for (std::uint32_t y = 0; y < into.height; ++y) {
    std::uint8_t* place = into.row(y);
    for (std::uint32_t x = 0; x < into.width; ++x, place += pixel) {
      const std::uint32_t stored_x = across[is_turned ? y : x];
      const std::uint32_t stored_y = down[is_turned ? x : y];
      std::memcpy(place, from.row(stored_y) + stored_x * pixel, pixel);
    }
  }
}

// The values of a mask that is stored with alpha, or as RGB, where these say nothing more: all is
// opaque and gray.
std::optional<Picture> gray_values(const Picture& from) {
  Picture gray = blank_picture(from.width, from.height, 1, from.bits);
  const std::size_t sample = from.sample_bytes(), pixel = from.pixel_bytes();
  const std::size_t colors = from.photo_channels();
  const std::uint8_t* at = from.samples.data();
  for (std::size_t i = 0; i < gray.samples.size(); i += sample, at += pixel) {
    for (std::size_t c = 1; c < colors; ++c) {
      if (std::memcmp(at, at + c * sample, sample) != 0) return std::nullopt;
    }
    const std::uint8_t* const end = at + pixel;
    if (from.channels > colors &&
        std::any_of(at + colors * sample, end, [](unsigned byte) { return byte != 0xFF; })) {
      return std::nullopt;
    }
    std::memcpy(gray.samples.data() + i, at, sample);
  }
  return gray;
}

// A mask becomes its nearest samples, their values as the file stores them: a PNG of the mask's own
// bits, palette and channels, or, `raw`, one or two bytes per pixel (a gray level, a color's number
// in the palette, 0 and 1 of a bilevel image).
ImageResult work_on_mask(Bytes image, const ImageInfo& info, const ImagePlan& plan,
                         const ImageRule& rule, std::vector<std::byte>& into) {
  const ImageGeometry& geometry = plan.geometry;
  const bool raw = rule.encode == EncodeAs::raw;
  DecodedPicture decoded = decode_picture(image, info, true, plan.work_bytes);
  if (!decoded.fault.empty()) return {.fault = decoded.fault, .bytes = 0};
  Picture& from = decoded.picture;
  if (raw && from.channels != 1) {
    std::optional<Picture> gray = gray_values(from);
    if (!gray) {
      return {.fault = unsupported("raw values of a mask are one per pixel, this one has {}",
                                   from.channels <= 2 ? "alpha" : "colors"),
              .bytes = 0};
    }
    from = *std::move(gray);
  }
  Picture result = blank_picture(geometry.width, geometry.height, from.channels, from.bits);
  result.top_level = from.top_level;
  result.has_palette = from.has_palette;
  result.palette = from.palette;
  result.palette_alpha = from.palette_alpha;
  result.transparent = from.transparent;
  pick_pixels(from, geometry, info, result);
  if (!raw) {
    const ImageMetadata metadata = carried_metadata(image, info, rule, geometry, 3);
    return {.fault = {}, .bytes = write_png(result, metadata, into)};
  }
  // One byte in the memory of two: little-endian.
  const std::size_t sample = result.sample_bytes(), pixels = result.samples.size() / sample;
  if (sample < rule.raw_bytes) std::fill_n(into.begin(), pixels * rule.raw_bytes, std::byte{0});
  const std::uint8_t* from_sample = result.samples.data();
  for (std::size_t i = 0; i < pixels; ++i, from_sample += sample)
    std::memcpy(into.data() + i * rule.raw_bytes, from_sample, sample);
  return {.fault = {}, .bytes = pixels * rule.raw_bytes};
}

std::uint64_t mask_bytes(const ImageInfo& info, const ImageGeometry& geometry) {
  const std::uint64_t result =
      std::uint64_t{geometry.width} * geometry.height * kMostMaskPixelBytes;
  const std::uint64_t places = std::uint64_t{geometry.width} + geometry.height;
  // `result` twice: the values of a mask that has alpha are taken out of it.
  return picture_bytes(info) + 2 * result + places * sizeof(std::uint32_t);
}

// With its own values: of 16 bits, or with alpha.
ImageResult work_finely(Bytes image, const ImageInfo& info, const ImagePlan& plan,
                        const ImageRule& rule, std::vector<std::byte>& into) {
  DecodedPicture decoded = decode_picture(image, info, true, plan.work_bytes);
  // What has its alpha in a way of its own is taken as libtiff shows it.
  if (decoded.fault.code == ImageFaultCode::unsupported && info.bits <= 8)
    decoded = decode_picture(image, info, false, plan.work_bytes);
  if (!decoded.fault.empty()) return {.fault = decoded.fault, .bytes = 0};
  const unsigned colors = becomes_gray(rule) ? 1
                          : rule.color == Color::rgb && plan.type == ImageType::png
                              ? 3
                              : decoded.picture.photo_channels();
  const FineShape shape{.colors = colors,
                        .has_alpha = plan.keeps_alpha && has_alpha(decoded.picture),
                        .bits = plan.fine_bits};
  const Picture result = scale_finely(decoded.picture, plan.geometry, shape);
  if (plan.type != ImageType::png)
    return {.fault = {}, .bytes = write_raw(result, rule, into.data())};
  const ImageMetadata metadata = carried_metadata(image, info, rule, plan.geometry, shape.colors);
  return {.fault = {}, .bytes = write_png(result, metadata, into)};
}

FrameOrFault frame_of_picture(Bytes image, const ImageInfo& info, const ImagePlan& plan,
                              SimdLevel level) {
  const DecodedPicture decoded = decode_picture(image, info, false, plan.work_bytes);
  if (!decoded.fault.empty()) return {.frame = {}, .fault = decoded.fault};
  const Picture& picture = decoded.picture;
  const std::uint32_t padding = padding_of(plan.type);
  RowScaler rows(plan.geometry, picture.photo_channels(), 1, level, padding);
  for (std::uint64_t y = 0; y < picture.height; ++y) {
    photo_row(picture, y, rows.scaler.row(y));
    rows.scaler.take_rows(y + 1);
  }
  return {.frame = std::move(rows).finish(plan.geometry, padding), .fault = {}};
}

FrameOrFault read_frame(Bytes image, const ImageInfo& info, const ImagePlan& plan,
                        SimdLevel level) {
  if (info.type != ImageType::jpeg) return frame_of_picture(image, info, plan, level);
  return read_jpeg_frame(image, info, plan.geometry, plan.route, level, padding_of(plan.type),
                         plan.work_bytes);
}

}  // namespace

ImagePlan plan_image(Bytes image, const ImageInfo& info, const ImageRule& rule,
                     std::uint64_t limit_bytes) {
  check_rule(rule);
  ImagePlan plan;
  plan.width = info.width;
  plan.height = info.height;
  plan.type = info.type;
  plan.fault = info.fault;
  if (!plan.fault.empty() || rule.changes_nothing()) return plan;
  plan.geometry = plan_geometry(info.width, info.height, info.orientation, rule);
  if (!needs_encoding(info, rule, plan.geometry)) {
    if (rule.strip_metadata) plan_strip(plan, image, info);
    return plan;
  }
  plan.keeps_bytes = plan.keeps_pixels = false;
  plan.width = plan.geometry.width;
  plan.height = plan.geometry.height;
  plan.type = result_type(info, rule);
  plan.loses_color = !rule.is_mask && becomes_gray(rule) && !info.is_odd("gray");
  check_extent(plan, info);
  if (plan.fault.empty() && rule.encode == EncodeAs::raw) plan_raw(plan, info, rule);
  if (plan.fault.empty()) plan_depth(plan, info, rule);
  if (!plan.fault.empty()) return plan;
  const std::uint64_t metadata_bytes =
      rule.encode == EncodeAs::raw ? 0 : read_metadata(image, info.type).size() + 64;
  if (rule.is_mask) {
    plan.work_bytes = mask_bytes(info, plan.geometry) + metadata_bytes + kPngWriterBytes;
    plan.most_output_bytes =
        rule.encode == EncodeAs::raw
            ? std::uint64_t{plan.width} * plan.height * rule.raw_bytes
            : most_png_bytes(std::uint64_t{plan.width} * 8, plan.height, metadata_bytes);
  } else if (plan.fine_bits != 0) {
    plan_fine(plan, info, metadata_bytes);
  } else if (info.type == ImageType::jpeg) {
    plan_jpeg(plan, image, rule, metadata_bytes);
  } else {
    plan_picture(plan, info, rule, metadata_bytes);
  }
  if (plan.fault.empty() && plan.work_bytes > limit_bytes)
    plan.fault = takes_too_much(info, plan.work_bytes, limit_bytes);
  return plan;
}

ImageFault takes_too_much(const ImageInfo& info, std::uint64_t work_bytes,
                          std::uint64_t limit_bytes) {
  return too_large("{} x {} pixels take up to {} bytes to decode and filter, {} are allowed",
                   info.width, info.height, work_bytes, limit_bytes);
}

ImageWorker::ImageWorker(const ImageRule& rule, SimdLevel level) : rule_(rule), level_(level) {
  check_rule(rule);
}

ImageResult ImageWorker::run(Bytes image, const ImageInfo& info, const ImagePlan& plan,
                             std::vector<std::byte>& into) const {
  if (!plan.fault.empty()) throw Error(Code::bug, "an image is worked on that has a fault");
  if (into.size() < plan.most_output_bytes) into.resize(plan.most_output_bytes);
  if (plan.keeps_bytes) {
    if (into.size() < image.size()) into.resize(image.size());
    std::memcpy(into.data(), image.data(), image.size());
    return {.fault = {}, .bytes = image.size()};
  }
  if (plan.keeps_pixels) return {.fault = {}, .bytes = strip_metadata(image, info, into)};
  if (rule_.is_mask) return work_on_mask(image, info, plan, rule_, into);
  if (plan.fine_bits != 0) return work_finely(image, info, plan, rule_, into);
  FrameOrFault read = read_frame(image, info, plan, level_);
  if (!read.fault.empty()) return {.fault = std::move(read.fault), .bytes = 0};
  ScaledFrame& frame = read.frame;
  set_color(frame, rule_);
  const auto channels = static_cast<unsigned>(frame.planes.size());
  if (frame.is_ycc && plan.type != ImageType::jpeg) ycc_to_rgb(frame.planes);
  if (plan.type == ImageType::unknown) {
    write_raw(frame, rule_, into.data());
    return {.fault = {}, .bytes = std::uint64_t{plan.width} * plan.height * plan.channels};
  }
  const ImageMetadata metadata = carried_metadata(image, info, rule_, plan.geometry, channels);
  if (plan.type == ImageType::png) {
    return {.fault = {}, .bytes = write_png(frame.planes, metadata, into)};
  }
  for (Plane& plane : frame.planes) plane.fill_padding();
  JpegFrame jpeg{.width = plan.width,
                 .height = plan.height,
                 .is_rgb = channels == 3 && !frame.is_ycc,
                 .chroma_across = frame.chroma_across,
                 .chroma_down = frame.chroma_down,
                 .quality = rule_.quality};
  if (jpeg.is_rgb) jpeg.chroma_across = jpeg.chroma_down = 2;
  return {.fault = {}, .bytes = write_jpeg(frame.planes, jpeg, metadata, into)};
}

std::string codec_versions(const ImageRule& rule) {
  if (rule.changes_nothing()) return {};
  return fmt::format("filters {}, {}", kFilterVersion, codec_libraries());
}

}  // namespace shale
