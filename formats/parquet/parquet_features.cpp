#include "formats/parquet/parquet_features.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/yaml_string.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/json_text.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostInner = 1 << 20;  // numbers of an inner list
constexpr std::size_t kMostNames = 60'000;     // parse_json has its limit

struct Word {
  std::string_view word, feature;
};
constexpr Word kMediaWords[] = {
    {"image", "Image"}, {"images", "Image"},  {"img", "Image"},   {"imgs", "Image"},
    {"photo", "Image"}, {"picture", "Image"}, {"mask", "Image"},  {"masks", "Image"},
    {"frame", "Image"}, {"frames", "Image"},  {"jpg", "Image"},   {"jpeg", "Image"},
    {"png", "Image"},   {"webp", "Image"},    {"gif", "Image"},   {"bmp", "Image"},
    {"tif", "Image"},   {"tiff", "Image"},    {"audio", "Audio"}, {"wav", "Audio"},
    {"flac", "Audio"},  {"mp3", "Audio"},     {"ogg", "Audio"},   {"opus", "Audio"},
    {"video", "Video"}, {"mp4", "Video"},     {"webm", "Video"},  {"mkv", "Video"},
    {"avi", "Video"},   {"mov", "Video"},     {"pdf", "Pdf"},
};

// What NumPy calls a dtype, and `datasets` too.
std::string name_of_number(const DType& dtype) {
  const char letter = dtype.descr()[1];
  if (letter == 'b') return "bool";
  return fmt::format("{}{}",
                     letter == 'f'   ? "float"
                     : letter == 'u' ? "uint"
                                     : "int",
                     8 * dtype.item_bytes());
}

std::string value_json(std::string_view dtype) {
  return fmt::format(R"({{"dtype": "{}", "_type": "Value"}})", dtype);
}

// What a field is one of, or a list of, or a list of lists.
struct Feature {
  std::string name;       // "Image", "float32"
  bool is_value = false;  // by its dtype
  int lists = 0;
};

Feature feature_of(const Field& field) {
  if (!is_located(field.kind)) return {name_of_number(dtype_of_column(field)), true};
  if (const std::optional<ListedNumbers> numbers = numbers_in(field))
    return {name_of_number(field.dtype), true, numbers->inner > 0 ? 2 : 1};
  const int lists = field.kind == Kind::list ? 1 : 0;
  const std::string_view media = media_of(field);
  if (!media.empty()) return {std::string(media), false, lists};
  const bool is_text = (field.kind == Kind::list ? field.elements : field.kind) == Kind::text;
  return {is_text ? "string" : "binary", true, lists};
}

std::string json_of(const Feature& feature) {
  std::string json = feature.is_value ? value_json(feature.name)
                                      : fmt::format(R"({{"_type": "{}"}})", feature.name);
  for (int i = 0; i < feature.lists; ++i)
    json = fmt::format(R"({{"feature": {}, "_type": "List"}})", json);
  return json;
}

// YAML takes JSON.
std::string yaml_of(const Feature& feature) {
  std::string name = feature.name;
  if (!feature.is_value)
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
  std::string yaml = fmt::format("\"{}\"", name);
  if (feature.lists == 0) return "\"dtype\": " + yaml;
  for (int i = 1; i < feature.lists; ++i) yaml = fmt::format(R"({{"list": {}}})", yaml);
  return "\"list\": " + yaml;
}

std::string names_json(std::span<const std::string> names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + json_quoted(name);
  return fmt::format(R"({{"names": [{}], "_type": "ClassLabel"}})", list);
}

std::string names_yaml(std::span<const std::string> names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i)
    list += fmt::format("{}\"{}\": {}", i == 0 ? "" : ", ", i, yaml_string(names[i]));
  return fmt::format(R"("dtype": {{"class_label": {{"names": {{{}}}}}}})", list);
}

std::span<const std::string> names_of_field(const LabelNames& names, std::size_t field) {
  return field == names.field ? std::span(names.names) : std::span<const std::string>();
}

}  // namespace

std::optional<ListedNumbers> numbers_in(const Field& field) {
  if (field.kind != Kind::tensor || field.shape.empty() || field.shape.size() > 2)
    return std::nullopt;
  const bool has_inner = field.shape.size() == 2;
  const std::uint64_t inner = has_inner ? field.shape[1] : 0;
  if (has_inner ? field.shape[0] != kFreeSide || inner == 0 || inner > kMostInner
                : field.shape[0] == 0)
    return std::nullopt;
  const std::string& descr = field.dtype.descr();
  if (descr == "<i4" || descr == "<u4") return ListedNumbers{ParquetType::int32, inner};
  if (descr == "<i8" || descr == "<u8") return ListedNumbers{ParquetType::int64, inner};
  if (descr == "<f4") return ListedNumbers{ParquetType::float32, inner};
  if (descr == "<f8") return ListedNumbers{ParquetType::float64, inner};
  return std::nullopt;
}

bool is_npy(const Field& field) { return field.kind == Kind::tensor && !numbers_in(field); }

std::string_view media_of(const Field& field) {
  const bool is_of_bytes =
      field.kind == Kind::bytes || (field.kind == Kind::list && field.elements == Kind::bytes);
  if (!is_of_bytes) return {};
  std::string word;
  for (const char c : field.name + " ") {
    const bool is_upper = c >= 'A' && c <= 'Z', is_lower = c >= 'a' && c <= 'z';
    // "mp3" is a word, and "image2" has one.
    if (is_upper || is_lower || ((word == "mp") && (c == '3' || c == '4'))) {
      word += static_cast<char>(is_upper ? c - 'A' + 'a' : c);
      continue;
    }
    for (const Word& known : kMediaWords) {
      if (word == known.word) return known.feature;
    }
    word.clear();
  }
  return {};
}

std::string huggingface_json(const Schema& schema, const LabelNames& names, bool keys_are_text) {
  std::string features;
  const auto add = [&](std::string_view name, const std::string& json) {
    features += fmt::format("{}{}: {}", features.empty() ? "" : ", ", json_quoted(name), json);
  };
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const auto of_field = names_of_field(names, i);
    add(schema.fields[i].name,
        of_field.empty() ? json_of(feature_of(schema.fields[i])) : names_json(of_field));
  }
  if (schema.has_keys) add(kKeyColumn, value_json(keys_are_text ? "string" : "binary"));
  return fmt::format(R"({{"info": {{"features": {{{}}}}}}})", features);
}

std::string huggingface_yaml(const Schema& schema, const LabelNames& names, bool keys_are_text) {
  std::string lines;
  const auto add = [&](std::string_view name, const std::string& yaml) {
    lines += fmt::format("  - {{\"name\": {}, {}}}\n", yaml_string(name), yaml);
  };
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const auto of_field = names_of_field(names, i);
    add(schema.fields[i].name,
        of_field.empty() ? yaml_of(feature_of(schema.fields[i])) : names_yaml(of_field));
  }
  if (schema.has_keys) add(kKeyColumn, yaml_of({keys_are_text ? "string" : "binary", true}));
  return lines;
}

std::uint64_t bytes_of_class_names(std::span<const std::string> names) {
  const bool is_held = names.size() <= kMostNames && std::ranges::all_of(names, is_utf8);
  return is_held && !names.empty() ? names_json(names).size() : 0;
}

std::vector<std::string> class_names_in(std::span<const ParquetKeyValue> pairs,
                                        std::string_view field) {
  std::vector<std::string> names;
  for (const ParquetKeyValue& pair : pairs) {
    if (pair.key != kHuggingfaceKey) continue;
    const std::optional<JsonValue> json = parse_json(pair.value);
    const JsonValue* found = json ? &*json : nullptr;
    for (const std::string_view step :
         {std::string_view("info"), std::string_view("features"), field, std::string_view("names")})
      found = found == nullptr ? nullptr : found->find(step);
    if (found == nullptr || found->type != JsonValue::Type::array) continue;
    for (const JsonValue& name : found->elements) names.push_back(name.text);
  }
  return names;
}

}  // namespace shale
