#include <memory>

#include <webp/decode.h>
#include <webp/demux.h>

#include "shale/image/header_facts.hpp"
#include "shale/pixels/picture.hpp"

namespace shale {
namespace {

const char* name_of_status(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY:
      return "no memory";
    case VP8_STATUS_UNSUPPORTED_FEATURE:
      return "a feature that libwebp does not support";
    case VP8_STATUS_NOT_ENOUGH_DATA:
      return "the bytes end early";
    default:
      return "damaged data";
  }
}

DecodedPicture webp_fault(const char* why) {
  return {.picture = {}, .fault = damaged("does not decode as WebP: {}", why)};
}

struct Demuxed {
  explicit Demuxed(const WebPData& data) : demuxer(WebPDemux(&data)) {}
  ~Demuxed() {
    WebPDemuxReleaseIterator(&frame);
    WebPDemuxDelete(demuxer);
  }
  Demuxed(const Demuxed&) = delete;
  Demuxed& operator=(const Demuxed&) = delete;
  WebPDemuxer* demuxer;
  WebPIterator frame{};
};

// One still image into the picture, with its upper left corner at (left, top).
VP8StatusCode decode_into(Picture& picture, const WebPData& data, std::uint32_t left,
                          std::uint32_t top) {
  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0) return VP8_STATUS_INVALID_PARAM;
  const std::size_t begin = top * picture.row_bytes() + left * picture.channels;
  config.output.colorspace = picture.channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA.rgba = picture.samples.data() + begin;
  config.output.u.RGBA.stride = static_cast<int>(picture.row_bytes());
  config.output.u.RGBA.size = picture.samples.size() - begin;
  return WebPDecode(data.bytes, data.size, &config);
}

}  // namespace

DecodedPicture decode_webp(Bytes bytes, const ImageInfo& info) {
  const WebPData data{reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(data.bytes, data.size, &features);
  if (status != VP8_STATUS_OK) return webp_fault(name_of_status(status));
  if (static_cast<std::uint32_t>(features.width) != info.width ||
      static_cast<std::uint32_t>(features.height) != info.height) {
    return webp_fault("its chunks differ in their sizes");
  }
  Picture picture = blank_picture(info.width, info.height, features.has_alpha != 0 ? 4 : 3, 8);
  if (features.has_animation == 0) {
    const VP8StatusCode decoded = decode_into(picture, data, 0, 0);
    if (decoded != VP8_STATUS_OK) return webp_fault(name_of_status(decoded));
    return {.picture = std::move(picture), .fault = {}};
  }
  // The first frame of an animation, on a transparent canvas.
  Demuxed demuxed(data);
  if (demuxed.demuxer == nullptr || WebPDemuxGetFrame(demuxed.demuxer, 1, &demuxed.frame) == 0) {
    return webp_fault("an animation without a first frame");
  }
  const WebPIterator& frame = demuxed.frame;
  WebPBitstreamFeatures first;
  if (frame.x_offset < 0 || frame.y_offset < 0 || frame.width <= 0 || frame.height <= 0 ||
      frame.x_offset + frame.width > features.width ||
      frame.y_offset + frame.height > features.height ||
      WebPGetFeatures(frame.fragment.bytes, frame.fragment.size, &first) != VP8_STATUS_OK ||
      first.width != frame.width || first.height != frame.height) {
    return webp_fault("a frame that does not fit its canvas");
  }
  const VP8StatusCode decoded =
      decode_into(picture, frame.fragment, static_cast<std::uint32_t>(frame.x_offset),
                  static_cast<std::uint32_t>(frame.y_offset));
  if (decoded != VP8_STATUS_OK) return webp_fault(name_of_status(decoded));
  return {.picture = std::move(picture), .fault = {}};
}

}  // namespace shale
