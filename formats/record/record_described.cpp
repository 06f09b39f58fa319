#include "formats/record/record_described.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/json_text.hpp"
#include "shale/data/schema.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/path_facts.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostFileBytes = 4 << 20;
constexpr std::string_view kFeaturesName = "features.json", kInfoName = "dataset_info.json",
                           kLabelsSuffix = ".labels.txt", kFlatValues = "/ragged_flat_values",
                           kRowLengths = "/ragged_row_lengths_";

// nullopt: there is no such file, or it is larger than any that TFDS writes.
std::optional<std::string> text_of_file(const std::string& path) {
  const std::optional<struct stat> facts = facts_behind(path);
  if (!facts || !S_ISREG(facts->st_mode)) return std::nullopt;
  const InputFile file(path);
  if (file.size() > kMostFileBytes) return std::nullopt;
  std::string text(file.size(), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(text)));
  return text;
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && !text.empty() ? std::optional(number)
                                                              : std::nullopt;
}

class FeatureTree {
 public:
  // `sides`: of the Sequences around the node.
  void walk(const JsonValue& node, const std::string& name, std::vector<std::uint64_t> sides) {
    if (const JsonValue* const dict = node.find("featuresDict")) {
      const JsonValue* const features = dict->find("features");
      if (features == nullptr) return;
      for (std::size_t i = 0; i < features->names.size(); ++i) {
        std::string path = name.empty() ? name : name + '/';
        path += features->names[i];
        walk(features->elements[i], path, sides);
      }
      return;
    }
    for (const std::string_view list : {"sequence", "dataset"}) {
      const JsonValue* const outer = node.find(list);
      const JsonValue* const feature = outer == nullptr ? nullptr : outer->find("feature");
      if (feature == nullptr) continue;
      const JsonValue* const length = outer->find("length");
      sides.push_back(length == nullptr ? kFreeSide : side_in(*length));
      return walk(*feature, name, std::move(sides));
    }
    add_leaf(node, name, std::move(sides));
  }

  [[nodiscard]] DescribedFeatures take() && { return std::move(features_); }

 private:
  // A number, or a string of it; -1 and 0 are any.
  static std::uint64_t side_in(const JsonValue& value) {
    const std::uint64_t side = number_in(value.text).value_or(0);
    return side > 0 ? side : kFreeSide;
  }

  void add_leaf(const JsonValue& node, const std::string& name, std::vector<std::uint64_t> sides) {
    if (sides.size() > 1) return add_ragged_leaf(node, name, sides.size());
    DescribedFeature& feature = features_[name];
    feature.shape = std::move(sides);
    for (const std::string_view kind : {"tensor", "boundingBox", "audio", "video"}) {
      const JsonValue* const leaf = node.find(kind);
      const JsonValue* const shape = leaf == nullptr ? nullptr : leaf->find("shape");
      const JsonValue* const inner = shape == nullptr ? nullptr : shape->find("dimensions");
      const JsonValue* const encoding = leaf == nullptr ? nullptr : leaf->find("encoding");
      if (encoding != nullptr && (encoding->text == "bytes" || encoding->text == "zlib")) {
        if (encoding->text == "bytes" && feature.shape.empty()) feature.dtype = dtype_in(*leaf);
        if (!feature.dtype) continue;  // a string per Tensor, which stays as it is
      }
      if (inner == nullptr) continue;
      for (const JsonValue& side : inner->elements) feature.shape.push_back(side_in(side));
    }
  }

  // The values of all rows, and how many each row has.
  void add_ragged_leaf(const JsonValue& node, const std::string& name, std::size_t levels) {
    add_leaf(node, name + std::string(kFlatValues), {kFreeSide});
    for (std::size_t level = 0; level + 1 < levels; ++level)
      features_[name + std::string(kRowLengths) + std::to_string(level)].shape = {kFreeSide};
  }

  static std::optional<DType> dtype_in(const JsonValue& leaf) {
    const JsonValue* const name = leaf.find("dtype");
    if (name == nullptr) return std::nullopt;
    try {
      const Field type = parse_field_type(name->text);
      const bool is_number = !is_located(type.kind) || type.kind == Kind::tensor;
      return is_number && type.shape.empty() ? std::optional(dtype_of_column(type)) : std::nullopt;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  DescribedFeatures features_;
};

std::vector<std::string> lines_in(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
  }
  return lines;
}

}  // namespace

DescribedFeatures parse_features_json(std::string_view text) {
  const std::optional<JsonValue> root = parse_json(text);
  if (!root) return {};
  FeatureTree tree;
  // Older versions have the tree as a string.
  const JsonValue* const content = root->find("content");
  const std::optional<JsonValue> inner =
      content != nullptr ? parse_json(content->text) : std::nullopt;
  if (inner) {
    JsonValue dict{.type = JsonValue::Type::object};
    dict.names.emplace_back("featuresDict");
    dict.elements.push_back(*inner);
    tree.walk(dict, {}, {});
  } else {
    tree.walk(*root, {}, {});
  }
  DescribedFeatures features = std::move(tree).take();
  features.erase("");
  return features;
}

DescribedFeatures described_features(const std::string& file) {
  const std::string folder = folder_of_file(file);
  const std::optional<std::string> text = text_of_file(join_path(folder, kFeaturesName));
  if (!text) return {};
  DescribedFeatures features = parse_features_json(*text);
  for (auto& [name, feature] : features) {
    std::string joined = name;
    std::ranges::replace(joined, '/', '-');
    const auto labels = text_of_file(join_path(folder, joined + std::string(kLabelsSuffix)));
    if (labels && is_utf8(*labels)) feature.classes = lines_in(*labels);
  }
  return features;
}

std::optional<std::uint64_t> records_in_dataset_info(std::string_view text,
                                                     std::string_view file_name) {
  // NAME-SPLIT.SUFFIX-00000-of-00002
  constexpr std::string_view kOf = "-of-";
  constexpr std::size_t kDigits = 5, kTail = 1 + kDigits + kOf.size() + kDigits;
  if (file_name.size() <= kTail) return std::nullopt;
  const std::string_view tail = file_name.substr(file_name.size() - kTail);
  const std::string_view name = file_name.substr(0, file_name.size() - kTail);
  const std::optional<std::uint64_t> number = number_in(tail.substr(1, kDigits)),
                                     count = number_in(tail.substr(kTail - kDigits));
  if (tail[0] != '-' || tail.substr(1 + kDigits, kOf.size()) != kOf || !number || !count)
    return std::nullopt;
  const std::optional<JsonValue> root = parse_json(text);
  const JsonValue* const splits = root ? root->find("splits") : nullptr;
  if (splits == nullptr) return std::nullopt;
  for (const JsonValue& split : splits->elements) {
    const JsonValue *const of = split.find("name"), *const lengths = split.find("shardLengths");
    if (of == nullptr || lengths == nullptr || lengths->elements.size() != *count) continue;
    const std::string_view whole = name.substr(0, name.rfind('.'));
    if (*number < *count && whole.ends_with("-" + of->text))
      return number_in(lengths->elements[*number].text);
  }
  return std::nullopt;
}

std::optional<std::uint64_t> described_records(const std::string& file) {
  const auto text = text_of_file(join_path(folder_of_file(file), kInfoName));
  return text ? records_in_dataset_info(*text, file.substr(file.rfind('/') + 1)) : std::nullopt;
}

std::vector<std::uint64_t> shape_of_numbers(const std::vector<std::uint64_t>& shape,
                                            std::uint64_t count) {
  std::uint64_t others = 1;
  for (const std::uint64_t side : shape) {
    if (side == kFreeSide) continue;
    if (others > std::numeric_limits<std::uint32_t>::max() / side) return {};
    others *= side;
  }
  const auto free_sides = std::ranges::count(shape, kFreeSide);
  if (free_sides > 1 || count % others != 0 || (free_sides == 0 && count != others)) return {};
  std::vector<std::uint64_t> sides = shape;
  std::ranges::replace(sides, kFreeSide, count / others);
  return sides;
}

}  // namespace shale
