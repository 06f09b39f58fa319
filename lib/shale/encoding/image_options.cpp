#include "shale/encoding/image_options.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::uint32_t kMostSide = 65'535;  // what a JPEG can be
constexpr std::string_view kResizeHint =
    "one of shorter=N, longer=N, fit=WxH, exact=WxH, with sides from 1 to 65535";
constexpr std::string_view kCropHint = "center=WxH, with sides from 1 to 65535";

// The field names may hold colons, the values hold none.
std::pair<std::string, std::string_view> field_and_value(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return {"", text};
  return {std::string(text.substr(0, colon)), text.substr(colon + 1)};
}

std::optional<std::uint32_t> side_in(std::string_view text) {
  std::uint32_t side = 0;
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, side);
  if (parsed.ec != std::errc() || parsed.ptr != end || side == 0 || side > kMostSide)
    return std::nullopt;
  return side;
}

std::optional<CropTo> sides_in(std::string_view text) {
  const std::size_t x = text.find('x');
  if (x == std::string_view::npos) return std::nullopt;
  const auto width = side_in(text.substr(0, x)), height = side_in(text.substr(x + 1));
  if (!width || !height) return std::nullopt;
  return CropTo{*width, *height};
}

Error bad_value(std::string_view option, std::string_view text, std::string_view hint) {
  return Error(Code::usage, "{} '{}' is not valid", option, printable(text))
      .hint(std::string(hint));
}

template <class Value, class Parse>
std::map<std::string, Value> by_field(std::string_view option,
                                      const std::vector<std::string>& texts, Parse parse) {
  std::map<std::string, Value> values;
  for (const std::string& text : texts) {
    const auto [field, value] = field_and_value(text);
    if (field.empty() && text.starts_with(':'))
      throw Error(Code::usage, "{} '{}' has no field before the colon", option, printable(text));
    if (values.contains(field)) {
      throw Error(Code::usage, "{} is given twice{}", option,
                  field.empty() ? "" : fmt::format(" for field '{}'", printable(field)))
          .hint(fmt::format("give each field one value: {} FIELD:VALUE", option));
    }
    values.emplace(field, parse(value));
  }
  return values;
}

std::vector<std::string> masks_in(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    names.emplace_back(text.substr(begin, end - begin));
    if (names.back().empty())
      throw Error(Code::usage, "--masks '{}' has an empty field name", printable(text));
    begin = end + 1;
  }
  return names;
}

// The value that holds for a field: its own, or that of all.
template <class Value>
std::optional<Value> value_for(const std::map<std::string, Value>& values,
                               const std::string& field) {
  auto found = values.find(field);
  if (found == values.end()) found = values.find("");
  if (found == values.end()) return std::nullopt;
  return found->second;
}

bool may_write_jpeg(const ImageRule& rule) {
  if (rule.is_mask || rule.encode == EncodeAs::png || rule.encode == EncodeAs::raw) return false;
  return rule.resize != Resize::none || rule.crop_width > 0 || rule.apply_rotation ||
         rule.color != Color::keep || rule.encode == EncodeAs::jpeg;
}

// What nothing comes of, or no image could be made as.
void refuse_idle(const ImageRequest& request, const std::string& field, const ImageRule& rule) {
  const bool is_raw = rule.encode == EncodeAs::raw;
  const std::string of_field = field.empty() ? "" : fmt::format(" of '{}'", printable(field));
  if (is_raw && rule.strip_metadata) {
    throw Error(Code::usage, "--strip-metadata has no effect with --encode raw")
        .hint("leave it out: pixels have no metadata");
  }
  if (!rule.is_mask && rule.depth == Depth::sixteen && !is_raw && rule.encode != EncodeAs::png) {
    throw Error(Code::usage, "--depth 16 needs --encode png or raw{}: a JPEG holds 8 bits",
                of_field)
        .hint("pass --encode png");
  }
  const auto quality = request.quality.find(field);
  if (quality == request.quality.end()) return;
  if (rule.is_mask) {
    throw Error(Code::usage, "--quality has no effect on '{}', which is a mask: it is never lossy",
                printable(field))
        .hint("leave it out; --masks says which fields are masks");
  }
  if (rule.encode == EncodeAs::png || is_raw) {
    throw Error(Code::usage, "--quality has no effect with --encode {}", name_of(rule.encode))
        .hint("leave it out, or pass --encode jpeg");
  }
  if (may_write_jpeg(rule)) return;
  throw Error(Code::usage,
              "--quality has no effect without --resize, --crop, --color, --apply-rotation or "
              "--encode jpeg")
      .hint("images that need no change keep their bytes");
}

}  // namespace

bool ImageRequest::is_empty() const { return first_option().empty(); }

bool ImageRequest::writes_other_types() const {
  return std::ranges::any_of(encode, [](const auto& entry) {
    return (entry.first.empty() || entry.first == "image") && entry.second != EncodeAs::keep;
  });
}

std::string_view ImageRequest::first_option() const {
  const bool changes_color =
      std::ranges::any_of(color, [](const auto& entry) { return entry.second != Color::keep; });
  return !resize.empty()         ? "--resize"
         : !crop.empty()         ? "--crop"
         : !encode.empty()       ? "--encode"
         : apply_rotation        ? "--apply-rotation"
         : strip_metadata        ? "--strip-metadata"
         : depth == Depth::eight ? "--depth"
         : alpha_over_white      ? "--alpha"
         : changes_color         ? "--color"
                                 : "";
}

std::vector<std::string> ImageRequest::named_fields() const {
  std::set<std::string> names;
  const auto add = [&](const auto& values) {
    for (const auto& entry : values) {
      if (!entry.first.empty()) names.insert(entry.first);
    }
  };
  add(resize);
  add(crop);
  add(encode);
  add(quality);
  add(color);
  return {names.begin(), names.end()};
}

ImageRequest parse_image_words(const ImageWords& words) {
  ImageRequest request;
  request.resize = by_field<ResizeTo>("--resize", words.resize, parse_resize);
  request.crop = by_field<CropTo>("--crop", words.crop, parse_crop);
  request.encode = by_field<EncodeAs>("--encode", words.encode, parse_encode);
  request.quality = by_field<unsigned>("--quality", words.quality, parse_quality);
  request.color = by_field<Color>("--color", words.color, parse_color);
  request.only_larger = words.only_larger;
  request.apply_rotation = words.apply_rotation;
  request.strip_metadata = words.strip_metadata;
  if (!words.depth.empty()) request.depth = parse_depth(words.depth);
  if (!words.alpha.empty()) request.alpha_over_white = parse_alpha(words.alpha);
  if (!words.axes.empty()) request.raw_is_planar = parse_pixel_axes(words.axes);
  if (words.masks) request.masks = masks_in(*words.masks);
  if (request.only_larger && request.resize.empty()) {
    throw Error(Code::usage, "--only-larger has no effect without --resize")
        .hint("leave it out, or pass --resize");
  }
  if (request.depth == Depth::sixteen && request.is_empty()) {
    throw Error(Code::usage, "--depth 16 has no effect without image work")
        .hint("leave it out, or pass --encode png or raw");
  }
  const bool has_raw = std::ranges::any_of(
      request.encode, [](const auto& entry) { return entry.second == EncodeAs::raw; });
  if (!words.axes.empty() && !has_raw) {
    throw Error(Code::usage, "--axes has no effect without --encode raw")
        .hint("leave it out, or pass --encode raw");
  }
  // What holds for all fields is checked before an input is listed, which may take hours.
  if (request.named_fields().empty() && !request.is_empty()) (void)rule_for(request, "", false);
  if (!request.quality.empty() && request.is_empty()) {
    throw Error(Code::usage, "--quality has no effect without image work")
        .hint("leave it out, or pass --encode jpeg or --resize");
  }
  if (request.masks && request.is_empty()) {
    throw Error(Code::usage, "--masks has no effect without image work")
        .hint("leave it out, or pass --resize, --crop or --encode");
  }
  return request;
}

ImageRule rule_for(const ImageRequest& request, const std::string& field, bool is_mask) {
  ImageRule rule;
  rule.is_mask = is_mask;
  const ResizeTo resize = value_for(request.resize, field).value_or(ResizeTo{});
  rule.resize = resize.how;
  rule.width = resize.width;
  rule.height = resize.height;
  rule.only_larger = request.only_larger && resize.how != Resize::none;
  const CropTo crop = value_for(request.crop, field).value_or(CropTo{});
  rule.crop_width = crop.width;
  rule.crop_height = crop.height;
  rule.encode = value_for(request.encode, field).value_or(EncodeAs::keep);
  rule.quality = value_for(request.quality, field).value_or(rule.quality);
  rule.apply_rotation = request.apply_rotation;
  rule.strip_metadata = request.strip_metadata;
  // The values of a mask stay; only a JPEG and raw pixels have no alpha to keep.
  if (!is_mask || request.depth != Depth::eight) rule.depth = request.depth;
  if (!is_mask) {
    rule.alpha_over_white =
        request.alpha_over_white || rule.encode == EncodeAs::jpeg || rule.encode == EncodeAs::raw;
    rule.color = value_for(request.color, field).value_or(Color::keep);
    rule.raw_is_gray = rule.encode == EncodeAs::raw && rule.color == Color::gray;
    rule.raw_is_planar = rule.encode == EncodeAs::raw && request.raw_is_planar;
  } else if (request.color.contains(field)) {
    throw Error(Code::usage, "--color has no effect on '{}', which is a mask: its values stay",
                printable(field))
        .hint("leave it out; --masks says which fields are masks");
  }
  if (is_mask && rule.encode == EncodeAs::jpeg) {
    if (request.encode.contains(field)) {
      throw Error(Code::usage, "--encode {}:jpeg: '{}' is a mask, and JPEG would change its labels",
                  printable(field), printable(field))
          .hint("pass png or keep; --masks says which fields are masks");
    }
    rule.encode = EncodeAs::keep;
  }
  refuse_idle(request, field, rule);
  // So that no manifest records a quality that shaped nothing.
  if (!may_write_jpeg(rule)) rule.quality = ImageRule{}.quality;
  if (field.empty() && rule.changes_nothing()) {
    throw Error(Code::usage, "--encode keep changes nothing")
        .hint("leave it out: by default images keep their bytes");
  }
  return rule;
}

std::string text_of(const ResizeTo& resize) {
  switch (resize.how) {
    case Resize::none:
      return "none";
    case Resize::shorter:
      return fmt::format("shorter={}", resize.width);
    case Resize::longer:
      return fmt::format("longer={}", resize.width);
    case Resize::fit:
      return fmt::format("fit={}x{}", resize.width, resize.height);
    case Resize::exact:
      return fmt::format("exact={}x{}", resize.width, resize.height);
  }
  return "none";
}

std::string text_of(const CropTo& crop) {
  return crop.width == 0 ? "none" : fmt::format("center={}x{}", crop.width, crop.height);
}

std::string_view name_of(EncodeAs encode) {
  switch (encode) {
    case EncodeAs::keep:
      return "keep";
    case EncodeAs::jpeg:
      return "jpeg";
    case EncodeAs::png:
      return "png";
    case EncodeAs::raw:
      return "raw";
  }
  return "keep";
}

std::string_view name_of(Color color) {
  constexpr std::string_view kNames[] = {"keep", "rgb", "gray"};
  return kNames[static_cast<std::size_t>(color)];
}

std::string_view name_of(Depth depth) {
  constexpr std::string_view kNames[] = {"keep", "8", "16"};
  return kNames[static_cast<std::size_t>(depth)];
}

ResizeTo parse_resize(std::string_view text) {
  constexpr std::pair<std::string_view, Resize> kWords[] = {{"shorter=", Resize::shorter},
                                                            {"longer=", Resize::longer},
                                                            {"fit=", Resize::fit},
                                                            {"exact=", Resize::exact}};
  for (const auto& [word, how] : kWords) {
    if (!text.starts_with(word)) continue;
    const std::string_view value = text.substr(word.size());
    if (how == Resize::shorter || how == Resize::longer) {
      if (const auto side = side_in(value)) return {how, *side, 0};
    } else if (const auto sides = sides_in(value)) {
      return {how, sides->width, sides->height};
    }
  }
  throw bad_value("--resize", text, kResizeHint);
}

CropTo parse_crop(std::string_view text) {
  constexpr std::string_view kCenter = "center=";
  if (text.starts_with(kCenter)) {
    if (const auto sides = sides_in(text.substr(kCenter.size()))) return *sides;
  }
  throw bad_value("--crop", text, kCropHint);
}

EncodeAs parse_encode(std::string_view text) {
  for (const EncodeAs encode : {EncodeAs::keep, EncodeAs::jpeg, EncodeAs::png, EncodeAs::raw}) {
    if (text == name_of(encode)) return encode;
  }
  throw bad_value("--encode", text, "one of keep, jpeg, png, raw");
}

Depth parse_depth(std::string_view text) {
  for (const Depth depth : {Depth::keep, Depth::eight, Depth::sixteen}) {
    if (text == name_of(depth)) return depth;
  }
  throw bad_value("--depth", text, "one of keep, 8, 16");
}

Color parse_color(std::string_view text) {
  for (const Color color : {Color::keep, Color::rgb, Color::gray}) {
    if (text == name_of(color)) return color;
  }
  throw bad_value("--color", text, "one of rgb, gray, keep");
}

bool parse_pixel_axes(std::string_view text) {
  if (text == "hwc" || text == "chw") return text == "chw";
  throw bad_value("--axes", text, "one of hwc, chw");
}

CropTo parse_raw_size(std::string_view text) {
  if (const auto sides = sides_in(text)) return *sides;
  throw bad_value("a size", text, "WxH");
}

bool parse_alpha(std::string_view text) {
  if (text == "keep" || text == "white") return text == "white";
  throw bad_value("--alpha", text, "one of keep, white");
}

unsigned parse_quality(std::string_view text) {
  const std::optional<std::uint32_t> quality = side_in(text);
  if (!quality || *quality > 100)
    throw bad_value("--quality", text, "a whole number from 1 to 100; 90 is the default");
  return *quality;
}

}  // namespace shale
