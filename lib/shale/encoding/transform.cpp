#include "shale/encoding/transform.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/image/probe.hpp"
#include "shale/pixels/image_work.hpp"

namespace shale {
namespace {

constexpr std::string_view kYes = "yes", kNo = "no";
constexpr std::string_view kResize = "resize", kOnlyLarger = "only_larger", kCrop = "crop",
                           kEncode = "encode", kQuality = "quality",
                           kApplyRotation = "apply_rotation", kStripMetadata = "strip_metadata",
                           kMask = "mask", kDepth = "depth", kAlpha = "alpha", kColor = "color",
                           kAxes = "axes", kSize = "size";
// What a set has that does not say it: those of earlier versions, and those that ask for the same.
constexpr std::string_view kOlderDepth = "8", kOlderAlpha = "white", kPlanar = "chw";

std::string filter_of(const ImageRule& rule) {
  if (rule.resize == Resize::none) return "none";
  return rule.is_mask ? "nearest" : "antialiased";
}

std::string_view yes_or_no(bool is_so) { return is_so ? kYes : kNo; }

Field field_of_pixels(const Field& input, const ImageRule& rule) {
  Field field{.name = input.name,
              .kind = Kind::tensor,
              .dtype = DType::parse(rule.raw_bytes > 1 ? "<u2" : "|u1"),
              .is_optional = input.is_optional};
  field.shape = {rule.raw_height, rule.raw_width};
  // As Pillow has them, gray ones have two axes; as torchvision has them, three.
  if (rule.raw_is_planar) {
    field.shape.insert(field.shape.begin(), rule.raw_channels());
  } else if (rule.raw_channels() > 1) {
    field.shape.push_back(rule.raw_channels());
  }
  return field;
}

// The size of raw pixels that the options alone decide; of sides 0 if they do not.
CropTo size_by_options(const ImageRule& rule) {
  if (rule.crop_width > 0) return {rule.crop_width, rule.crop_height};
  if (rule.resize == Resize::exact && !rule.only_larger) return {rule.width, rule.height};
  return {};
}

// What all raw pixels of a field are like.
void settle_raw(FieldTransform& made, const ImageRequest& request, const std::string& name,
                const std::vector<LargestImage>& largest, const SourceInfo& source,
                const std::string& input) {
  ImageRule& rule = made.rule;
  const auto found = std::ranges::find(largest, made.field, &LargestImage::field);
  const LargestImage like = found == largest.end() ? LargestImage{} : *found;
  const ImageInfo& image = like.info;
  if (found != largest.end() && source.largest) made.like = source.largest->key;
  if (rule.depth == Depth::sixteen || (rule.depth == Depth::keep && image.bits > 8))
    rule.raw_bytes = 2;
  if (rule.color == Color::keep && !rule.is_mask) rule.raw_is_gray = like.are_gray;
  if (rule.color == Color::rgb) rule.color = Color::keep;  // raw pixels are RGB unless all are gray
  CropTo size = size_by_options(rule);
  const auto recorded = request.raw_size.find(name);
  if (size.width == 0 && recorded != request.raw_size.end()) size = recorded->second;
  if (size.width == 0 && image.width > 0 && image.height > 0) {
    const ImageGeometry geometry =
        plan_geometry(image.width, image.height, image.orientation, rule);
    size = {geometry.width, geometry.height};
  }
  if (size.width == 0) {
    throw Error(Code::usage, "--encode raw needs images of '{}' of one size, which is not known",
                printable(name))
        .at(input)
        .hint("pass --resize exact=WxH, or --resize shorter=N with --crop center=WxH");
  }
  rule.raw_width = size.width;
  rule.raw_height = size.height;
}

bool can_hold_images(const Field& field) {
  return field.kind == Kind::bytes || field.kind == Kind::list;
}

std::string names_of(const Schema& schema, const std::vector<std::size_t>& fields) {
  std::string names;
  for (const std::size_t field : fields)
    names += (names.empty() ? "" : ", ") + printable(schema.fields[field].name);
  return names;
}

// Those that may hold images, where nothing says which do.
std::vector<std::size_t> candidates_of(const Schema& schema) {
  std::vector<std::size_t> fields;
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    if (can_hold_images(schema.fields[i])) fields.push_back(i);
  }
  return fields;
}

std::string field_option(std::string_view option, std::string_view field) {
  return option.starts_with("--resize") ? fmt::format("--resize {}:shorter=256", field)
                                        : fmt::format("{} {}:VALUE", option, field);
}

bool takes_field(std::string_view option) {
  return option != "--apply-rotation" && option != "--strip-metadata";
}

Error no_image_field(const std::string& name, const Schema& schema, std::string_view option) {
  const std::optional<std::size_t> field = schema.find(name);
  const std::vector<std::size_t> candidates = candidates_of(schema);
  return Error(Code::usage, "{} names '{}', which is {}", option, printable(name),
               field ? fmt::format("a field of kind {}", name_of(schema.fields[*field].kind))
                     : "not a field of the input")
      .hint(candidates.empty() ? "the input has no field that can hold images"
                               : "one of: " + names_of(schema, candidates));
}

// The fields that the request is about: those of images, and those that it names.
std::vector<std::size_t> fields_for(const ImageRequest& request, const SourceInfo& source,
                                    const std::string& input) {
  const std::string_view option = request.first_option();
  const std::vector<std::size_t> candidates = candidates_of(source.schema);
  std::vector<std::size_t> fields = source.image_fields;
  const auto add = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const std::optional<std::size_t> field = source.schema.find(name);
      if (!field || !can_hold_images(source.schema.fields[*field]))
        throw no_image_field(name, source.schema, option).at(input);
      fields.push_back(*field);
    }
  };
  add(request.named_fields());
  if (fields.empty() && !candidates.empty() && source.suffixes.empty()) {
    throw Error(Code::usage, "{}: nothing says which fields of the input hold images", option)
        .at(input)
        .hint(fmt::format("name one: {}",
                          field_option(option, source.schema.fields[candidates.front()].name)));
  }
  if (fields.empty()) {
    throw Error(Code::usage, "{} is for images, but the input holds none", option)
        .at(input)
        .hint("leave it out");
  }
  // A mask alone does not say which fields are images.
  if (request.masks) add(*request.masks);
  std::sort(fields.begin(), fields.end());
  fields.erase(std::unique(fields.begin(), fields.end()), fields.end());
  return fields;
}

std::string value_at(const ManifestTransform& transform, std::string_view name) {
  for (const auto& [parameter, value] : transform.parameters) {
    if (parameter == name) return value;
  }
  throw Error(Code::damaged, "the image work of '{}' has no '{}'", printable(transform.field),
              name);
}

std::string value_or(const ManifestTransform& transform, std::string_view name,
                     std::string_view otherwise) {
  const bool has_it = std::ranges::find(transform.parameters, name, [](const auto& parameter) {
                        return std::string_view(parameter.first);
                      }) != transform.parameters.end();
  return has_it ? value_at(transform, name) : std::string(otherwise);
}

bool flag_at(const ManifestTransform& transform, std::string_view name) {
  return value_at(transform, name) == kYes;
}

// Some of it is for every field of images.
bool is_for_all(const ImageRequest& request) {
  return request.resize.contains("") || request.crop.contains("") || request.encode.contains("") ||
         request.color.contains("") || request.apply_rotation || request.strip_metadata;
}

std::vector<std::size_t> untouched_fields(const ImageRequest& request, const Schema& schema,
                                          const std::vector<FieldTransform>& touched) {
  std::vector<std::size_t> fields;
  const std::vector<std::string> named = request.named_fields();
  for (std::size_t i = 0; is_for_all(request) && i < schema.fields.size(); ++i) {
    const bool is_touched = std::ranges::find(touched, i, &FieldTransform::field) != touched.end();
    const bool is_named = std::ranges::find(named, schema.fields[i].name) != named.end();
    if (schema.fields[i].kind == Kind::bytes && !is_touched && !is_named) fields.push_back(i);
  }
  return fields;
}

}  // namespace

bool is_mask(const ImageRequest& request, const std::string& field) {
  if (request.masks)
    return std::find(request.masks->begin(), request.masks->end(), field) != request.masks->end();
  return field == "mask" || field.ends_with("_mask");
}

Transform::Transform(Schema input, std::vector<FieldTransform> fields,
                     std::vector<std::size_t> untouched, std::string option)
    : input_(std::move(input)),
      output_(input_),
      fields_(std::move(fields)),
      untouched_(std::move(untouched)),
      option_(std::move(option)) {
  for (const FieldTransform& transform : fields_) {
    if (transform.rule.encode == EncodeAs::raw)
      output_.fields[transform.field] =
          field_of_pixels(input_.fields[transform.field], transform.rule);
  }
}

void Transform::refuse_other_images(const Sample& sample) const {
  for (const std::size_t field : untouched_) {
    const auto* bytes = std::get_if<Bytes>(&sample.values[field]);
    if (bytes == nullptr) continue;
    const ImageInfo image = probe_image(*bytes, "");
    if (!image.fault.empty()) continue;
    const std::string name = printable(input_.fields[field].name);
    throw Error(Code::bad_content,
                "field '{}' holds an image ({}), and nothing says what {} does with it", name,
                name_of(image.type), option_)
        .hint(takes_field(option_)
                  ? fmt::format("pass --masks {} if it is a mask; '{}' works on it as on a photo, "
                                "and '{}' leaves it as it is",
                                name, field_option(option_, name),
                                field_option(option_, input_.fields[fields_.front().field].name))
                  : fmt::format("pass --masks {} if it is a mask, or leave its files out", name));
  }
}

std::vector<ManifestTransform> Transform::recorded() const {
  std::vector<ManifestTransform> recorded;
  for (const auto& [field, rule, like] : fields_) {
    ManifestTransform& made = recorded.emplace_back();
    made.field = input_.fields[field].name;
    const auto add = [&](std::string_view name, std::string_view value) {
      made.parameters.emplace_back(name, value);
    };
    add(kResize, text_of(ResizeTo{rule.resize, rule.width, rule.height}));
    add(kOnlyLarger, yes_or_no(rule.only_larger));
    add(kCrop, text_of(CropTo{rule.crop_width, rule.crop_height}));
    add(kEncode, name_of(rule.encode));
    add(kQuality, std::to_string(rule.quality));
    add(kApplyRotation, yes_or_no(rule.apply_rotation));
    add(kStripMetadata, yes_or_no(rule.strip_metadata));
    add(kMask, yes_or_no(rule.is_mask));
    if (rule.is_mask ? rule.depth == Depth::sixteen : rule.depth != Depth::eight)
      add(kDepth, name_of(rule.depth));
    if (!rule.is_mask && !rule.alpha_over_white) add(kAlpha, "keep");
    const bool is_raw = rule.encode == EncodeAs::raw;
    const Color color = is_raw && rule.raw_is_gray ? Color::gray
                        : is_raw                   ? Color::keep
                                                   : rule.color;
    if (color != Color::keep) add(kColor, name_of(color));
    if (rule.raw_is_planar) add(kAxes, kPlanar);
    if (is_raw && size_by_options(rule).width == 0)
      add(kSize, fmt::format("{}x{}", rule.raw_width, rule.raw_height));
    made.filter = filter_of(rule);
    made.codec = codec_versions(rule);
  }
  return recorded;
}

std::uint64_t Transform::likely_bytes(const PendingSample& sample) const {
  // Of a JPEG that is written: about a byte per pixel at the highest quality.
  std::uint64_t bytes = 0;
  for (const auto& [field, rule, like] : fields_) {
    const FieldPlace& place = sample.cells[field].place;
    const std::uint64_t images =
        input_.fields[field].kind == Kind::list ? std::max<std::uint64_t>(place.count, 1) : 1;
    const Field& output = output_.fields[field];
    if (output.kind == Kind::tensor) {
      bytes += output.tensor_bytes();
    } else if (rule.crop_width > 0) {
      bytes += images * rule.crop_width * rule.crop_height;
    } else if (rule.resize == Resize::fit || rule.resize == Resize::exact) {
      bytes += images * rule.width * rule.height;
    } else if (rule.resize != Resize::none) {
      bytes += images * rule.width * rule.width;
    } else {
      bytes += place.length;
    }
  }
  return bytes;
}

std::optional<std::uint64_t> Transform::fixed_bytes() const {
  std::uint64_t bytes = 0;
  for (const FieldTransform& transform : fields_) {
    const Field& output = output_.fields[transform.field];
    if (output.kind != Kind::tensor) return std::nullopt;
    bytes += output.tensor_bytes();
  }
  return bytes;
}

std::shared_ptr<const Transform> resolve_transform(const ImageRequest& request,
                                                   const SourceInfo& source,
                                                   const std::string& input,
                                                   std::vector<std::string>& notes,
                                                   const std::vector<LargestImage>& largest) {
  std::vector<FieldTransform> fields;
  std::string masks;
  for (const std::size_t field : fields_for(request, source, input)) {
    const std::string& name = source.schema.fields[field].name;
    const bool is_label_map = is_mask(request, name);
    FieldTransform made{field, rule_for(request, name, is_label_map)};
    const ImageRule& rule = made.rule;
    if (rule.changes_nothing()) continue;
    if (rule.encode == EncodeAs::raw && source.schema.fields[field].kind == Kind::list) {
      throw Error(Code::unsupported,
                  "--encode raw: a sample has many images in '{}', and their number differs",
                  printable(name))
          .at(input)
          .hint("pass --encode png, or convert the images one by one");
    }
    if (is_label_map) masks += (masks.empty() ? "'" : ", '") + printable(name) + "'";
    if (rule.encode == EncodeAs::raw) settle_raw(made, request, name, largest, source, input);
    fields.push_back(std::move(made));
  }
  if (!masks.empty() && !request.masks) {
    notes.push_back(
        fmt::format("{} is taken for a mask by its name: resized to the nearest pixel, never "
                    "lossy; --masks says otherwise",
                    masks));
  }
  if (fields.empty()) return nullptr;
  std::vector<std::size_t> untouched = untouched_fields(request, source.schema, fields);
  return std::make_shared<const Transform>(source.schema, std::move(fields), std::move(untouched),
                                           std::string(request.first_option()));
}

ImageRequest image_request_of(const std::vector<ManifestTransform>& recorded) try {
  ImageRequest request;
  request.masks.emplace();
  for (const ManifestTransform& transform : recorded) {
    const std::string& field = transform.field;
    if (const std::string resize = value_at(transform, kResize); resize != "none")
      request.resize.emplace(field, parse_resize(resize));
    if (const std::string crop = value_at(transform, kCrop); crop != "none")
      request.crop.emplace(field, parse_crop(crop));
    request.encode.emplace(field, parse_encode(value_at(transform, kEncode)));
    const bool is_label_map = flag_at(transform, kMask);
    if (is_label_map) request.masks->push_back(field);
    const Depth depth =
        parse_depth(value_or(transform, kDepth, is_label_map ? "keep" : kOlderDepth));
    if (!is_label_map || depth == Depth::sixteen) request.depth = depth;
    if (!is_label_map && request.encode[field] != EncodeAs::jpeg &&
        request.encode[field] != EncodeAs::raw)
      request.alpha_over_white |= parse_alpha(value_or(transform, kAlpha, kOlderAlpha));
    // Raw pixels of what an earlier version made are RGB.
    const bool is_raw = request.encode[field] == EncodeAs::raw;
    if (!is_label_map) {
      request.color.emplace(field,
                            parse_color(value_or(transform, kColor, is_raw ? "rgb" : "keep")));
    }
    request.raw_is_planar |= parse_pixel_axes(value_or(transform, kAxes, "hwc"));
    if (const std::string size = value_or(transform, kSize, ""); !size.empty())
      request.raw_size.emplace(field, parse_raw_size(size));
    // The default may be one that has no effect, which is refused where it is asked for.
    const unsigned quality = parse_quality(value_at(transform, kQuality));
    if (quality != ImageRule{}.quality) request.quality.emplace(field, quality);
    request.only_larger |= flag_at(transform, kOnlyLarger);
    request.apply_rotation |= flag_at(transform, kApplyRotation);
    request.strip_metadata |= flag_at(transform, kStripMetadata);
  }
  return request;
} catch (const Error& error) {
  if (error.code() == Code::damaged) throw;
  throw Error(Code::damaged, "its image work is not what shale writes: {}", error.message());
}

std::optional<std::string> other_codec(const std::vector<ManifestTransform>& recorded) {
  const ImageRequest request = image_request_of(recorded);
  for (const ManifestTransform& transform : recorded) {
    const ImageRule rule = rule_for(request, transform.field, flag_at(transform, kMask));
    const std::string here = codec_versions(rule);
    if (here != transform.codec)
      return fmt::format("{}, here {}", printable(transform.codec), here);
    const std::string filter = filter_of(rule);
    if (filter != transform.filter)
      return fmt::format("filter {}, here {}", printable(transform.filter), filter);
  }
  return std::nullopt;
}

std::string text_of(const ManifestTransform& transform) {
  std::string text = printable(transform.field) + ":";
  std::string separator = " ";
  const auto has = [&](std::string_view name, std::string_view value) {
    return std::ranges::any_of(transform.parameters, [&](const auto& parameter) {
      return parameter.first == name && parameter.second == value;
    });
  };
  const bool is_lossless = has(kEncode, "png") || has(kEncode, "raw") || has(kMask, kYes);
  const bool only_strips = has(kResize, "none") && has(kCrop, "none") && has(kEncode, "keep") &&
                           has(kApplyRotation, kNo) && value_or(transform, kColor, "").empty();
  const bool has_quality = !is_lossless && !only_strips;
  const bool is_photo = has(kMask, kNo) && !only_strips;
  for (const auto& [name, value] : transform.parameters) {
    if (value == "none" || value == kNo || value == "keep") continue;
    if (name == kQuality && !has_quality) continue;
    std::string words(name);
    std::replace(words.begin(), words.end(), '_', ' ');
    text += separator + words + (value == kYes ? "" : " " + printable(value));
    separator = ", ";
  }
  if (is_photo && value_or(transform, kDepth, "").empty())
    text += fmt::format("{}depth {}", separator, kOlderDepth);
  if (is_photo && !has(kEncode, "jpeg") && !has(kEncode, "raw") &&
      value_or(transform, kAlpha, "").empty())
    text += fmt::format("{}alpha {}", is_photo ? ", " : separator, kOlderAlpha);
  return text;
}

}  // namespace shale
