#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/image/image_info.hpp"
#include "shale/pixels/image_rule.hpp"
#include "shale/pixels/simd_level.hpp"

namespace shale {

/// Why an image does not fit what it is to become beside the others: no damage, but a question that
/// an option answers.
enum class Misfit { none, depth, size, color };

/// What a rule makes of one image: known from its header, no pixel is decoded.
struct ImagePlan {
  ImageFault fault;         ///< not empty: the rule cannot be followed, and why; nothing else holds
  bool keeps_bytes = true;  ///< nothing to do: the bytes pass untouched
  bool keeps_pixels = true;             ///< only metadata goes: the pixels are not decoded
  std::uint32_t width = 0, height = 0;  ///< of the result, as it is stored
  ImageType type = ImageType::unknown;  ///< of the result; raw: ImageType::unknown
  unsigned channels = 0;                ///< raw: ImageRule::raw_channels(); else 0
  Misfit misfit = Misfit::none;         ///< what the fault is, if it is one of these
  /// Its own values are worked on (fine_scaler.hpp): `fine_bits` of them each, else 0.
  unsigned fine_bits = 0;
  bool keeps_alpha = false;
  bool loses_alpha = false, loses_depth = false, loses_color = false;  ///< in what is made of it
  std::uint64_t work_bytes = 0;         ///< memory that ImageWorker::run takes at most
  std::uint64_t most_output_bytes = 0;  ///< how large its result may be at most
  ImageGeometry geometry;
  JpegRoute route;  ///< of a JPEG that is decoded
};

/// The most memory that an image may take to decode, unless the caller says otherwise, and the most
/// pixels that it, or its result, may have: as many as Pillow takes before it speaks of a
/// decompression bomb.
inline constexpr std::uint64_t kImageWorkLimit = std::uint64_t{1} << 30;
inline constexpr std::uint64_t kMostImagePixels = 178'956'970;

/// Plans the work on `image`, of which probe_image() said `info`, by its header: a few
/// microseconds. What an image is at fault for is in ImagePlan::fault, among it
/// - too-large: more than kMostImagePixels, or work_bytes above `limit_bytes` (a decompression
///   bomb);
/// - too-small: smaller than the crop;
/// - unsupported: a kind that nothing here decodes, by name.
/// Thread-safe. Errors: none but those of check_rule().
[[nodiscard]] ImagePlan plan_image(Bytes image, const ImageInfo& info, const ImageRule& rule,
                                   std::uint64_t limit_bytes = kImageWorkLimit);

/// The fault of an image whose work takes more memory than it may.
[[nodiscard]] ImageFault takes_too_much(const ImageInfo& info, std::uint64_t work_bytes,
                                        std::uint64_t limit_bytes);

struct ImageResult {
  ImageFault fault;         ///< not empty: it does not decode, and why; there is no result
  std::uint64_t bytes = 0;  ///< the result is the first `bytes` of `into`
};

/// Does what was planned. Stateless: one object may serve all threads.
/// The same image and rule give the same bytes at every SIMD level and in every thread, by the same
/// codecs (codec_versions()).
class ImageWorker {
 public:
  /// Errors: those of check_rule().
  explicit ImageWorker(const ImageRule& rule, SimdLevel level = best_simd_level());

  /// Writes the result to `into`, which grows as needed and is never made smaller: memory of the
  /// caller, used again for the next image. `plan` is plan_image's of the same arguments, without a
  /// fault. Besides `into` it takes plan.work_bytes at most, checked before they are taken.
  /// The bytes are untrusted: damage is a fault. Errors: std::bad_alloc; Code::bug for a plan with
  /// a fault.
  [[nodiscard]] ImageResult run(Bytes image, const ImageInfo& info, const ImagePlan& plan,
                                std::vector<std::byte>& into) const;

 private:
  ImageRule rule_;
  SimdLevel level_;
};

/// The codecs, with versions, that may shape the bytes of a rule's results:
/// "libjpeg-turbo 2.1.5, libpng 1.6.39 ..."; the filters' own version comes first. Empty if the
/// rule changes nothing.
[[nodiscard]] std::string codec_versions(const ImageRule& rule);

}  // namespace shale
