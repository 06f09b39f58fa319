#include "shale/image/header_facts.hpp"
#include "shale/image/heif.hpp"
#include "shale/pixels/picture.hpp"

namespace shale {

DecodedPicture decode_heif(Bytes bytes, const ImageInfo& info) {
  const HeifImage image(bytes);
  Picture picture;
  std::string objection = image.objection();
  if (objection.empty() && (image.width != info.width || image.height != info.height))
    objection = "its size is not that of its header";
  if (objection.empty()) {
    picture =
        blank_picture(image.width, image.height, image.has_alpha ? 4 : 3, image.bits > 8 ? 16 : 8);
    picture.top_level = (1U << image.bits) - 1;
    objection = image.decode_into(picture.samples);
  }
  if (!objection.empty())
    return {.picture = {},
            .fault = damaged("does not decode as {}: {}", name_of(info.type), objection)};
  return {.picture = std::move(picture), .fault = {}};
}

}  // namespace shale
