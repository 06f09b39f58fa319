#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/flow/shared_budget.hpp"
#include "shale/image/image_info.hpp"
#include "shale/numbers/number_facts.hpp"

// Small pictures of what a sample holds. All are functions of the bytes alone, and thread-safe.

namespace shale {

/// A picture of the page.
struct ReportImage {
  std::vector<std::byte> bytes = {};    ///< a whole JPEG or PNG; empty: there is none
  std::string media_type = {};          ///< "image/jpeg", "image/png"
  std::uint32_t width = 0, height = 0;  ///< pixels of `bytes`; of masks as of their image
};

/// A mask that lies over its image.
struct ReportOverlay {
  std::string name = {};   ///< of the field that holds the mask
  ReportImage image = {};  ///< a PNG with alpha: background 0 is transparent; empty: see `problem`
  std::string problem = {};
};

/// The longer side of a picture in a contact sheet, and of a further frame of a clip.
inline constexpr std::uint32_t kThumbnailSide = 192, kFrameSide = 128;

struct Thumbnail {
  ReportImage image;
  std::string problem;      ///< why there is none
  bool is_damaged = false;  ///< the problem is damage
};

/// A JPEG of at most `side` pixels a side, turned as its EXIF block says if `applies_rotation`. An
/// image of that size stays as it is, once it was decoded. `work` lends the memory to decode in.
[[nodiscard]] Thumbnail make_thumbnail(Bytes image, const ImageInfo& info, std::uint32_t side,
                                       bool applies_rotation, SharedBudget& work);

/// A mask that covers a thumbnail of its image: a PNG of that size. 0, or black, is
/// transparent; each other value has a color of its own.
[[nodiscard]] ReportOverlay make_overlay(const std::string& field, Bytes mask, std::uint32_t width,
                                         std::uint32_t height, SharedBudget& work);

/// True for (H, W), (H, W, 1|3|4) and (1|3|4, H, W), both sides at least 4, of numbers.
[[nodiscard]] bool is_picture(NumberKind kind, std::span<const std::uint64_t> shape);
/// A PNG of such an array: uint8 and bool as they are, others from their smallest to their largest
/// number; NaN is black. `bytes` are all of its elements.
[[nodiscard]] ReportImage draw_array(NumberKind kind, std::span<const std::uint64_t> shape,
                                     Bytes bytes, std::uint32_t side);

}  // namespace shale
