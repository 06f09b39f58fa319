#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/pixels/image_rule.hpp"

namespace shale {

/// Image work as it stands on a command line: values of options, each of them with or without a
/// field before it ("mask:exact=256x256").
struct ImageWords {
  std::vector<std::string> resize = {}, crop = {}, encode = {}, quality = {}, color = {};
  std::optional<std::string> masks = {};  ///< names of fields, with commas between them
  bool only_larger = false, apply_rotation = false, strip_metadata = false;
  std::string depth = {}, alpha = {};  ///< "": the default, keep
  std::string axes = {};               ///< "": the default, hwc
};

struct ResizeTo {
  Resize how = Resize::none;
  std::uint32_t width = 0, height = 0;
};
struct CropTo {
  std::uint32_t width = 0, height = 0;
};

/// Image work as requested: nothing is known of the fields yet. Values by field; those under ""
/// hold for all image fields that have none of their own.
struct ImageRequest {
  std::map<std::string, ResizeTo> resize;
  std::map<std::string, CropTo> crop;
  std::map<std::string, EncodeAs> encode;
  std::map<std::string, unsigned> quality;
  std::map<std::string, Color> color;
  std::optional<std::vector<std::string>> masks;
  bool only_larger = false, apply_rotation = false, strip_metadata = false;
  Depth depth = Depth::keep;
  bool alpha_over_white = false;
  bool raw_is_planar = false;
  /// Of raw pixels whose size no option says: as a manifest records it.
  std::map<std::string, CropTo> raw_size;

  [[nodiscard]] bool is_empty() const;
  /// True if images of any type are written as JPEG, PNG or raw pixels.
  [[nodiscard]] bool writes_other_types() const;
  /// The option that asks for it, for messages: "--resize".
  [[nodiscard]] std::string_view first_option() const;
  /// The fields that are named, sorted, each once.
  [[nodiscard]] std::vector<std::string> named_fields() const;
};

/// Errors: Code::usage, by option, for a value that is none, a field that is given two values, and
/// what means nothing: --quality where no JPEG is written, --only-larger without --resize ...
[[nodiscard]] ImageRequest parse_image_words(const ImageWords& words);

/// What holds for one image field; "" is one that has no values of its own. Errors: Code::usage for
/// a combination that means nothing.
[[nodiscard]] ImageRule rule_for(const ImageRequest& request, const std::string& field,
                                 bool is_mask);

/// "shorter=256", "fit=640x480"; "none". "224x224". As the options have them.
[[nodiscard]] std::string text_of(const ResizeTo& resize);
[[nodiscard]] std::string text_of(const CropTo& crop);
[[nodiscard]] std::string_view name_of(EncodeAs encode);
/// "keep", "rgb", "gray".
[[nodiscard]] std::string_view name_of(Color color);
/// "keep", "8", "16".
[[nodiscard]] std::string_view name_of(Depth depth);

/// And back. Errors: Code::usage, naming the option.
[[nodiscard]] ResizeTo parse_resize(std::string_view text);
[[nodiscard]] CropTo parse_crop(std::string_view text);
[[nodiscard]] EncodeAs parse_encode(std::string_view text);
[[nodiscard]] Depth parse_depth(std::string_view text);
[[nodiscard]] Color parse_color(std::string_view text);
/// True: channels first.
[[nodiscard]] bool parse_pixel_axes(std::string_view text);
/// "28x28".
[[nodiscard]] CropTo parse_raw_size(std::string_view text);
/// True: over white.
[[nodiscard]] bool parse_alpha(std::string_view text);
[[nodiscard]] unsigned parse_quality(std::string_view text);

}  // namespace shale
