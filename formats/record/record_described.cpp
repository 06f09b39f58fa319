#include "formats/record/record_described.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/json_text.hpp"
#include "shale/data/schema.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/path_facts.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostFileBytes = 4 << 20;
constexpr std::string_view kFeaturesName = "features.json", kLabelsSuffix = ".labels.txt";

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

class FeatureTree {
 public:
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
    std::uint64_t side = 0;
    const char* const end = value.text.data() + value.text.size();
    const auto [stop, error] = std::from_chars(value.text.data(), end, side);
    return error == std::errc() && stop == end && side > 0 ? side : kFreeSide;
  }

  void add_leaf(const JsonValue& node, const std::string& name, std::vector<std::uint64_t> sides) {
    for (const std::string_view kind : {"tensor", "boundingBox", "audio"}) {
      const JsonValue* const leaf = node.find(kind);
      const JsonValue* const shape = leaf == nullptr ? nullptr : leaf->find("shape");
      const JsonValue* const inner = shape == nullptr ? nullptr : shape->find("dimensions");
      if (inner == nullptr) continue;
      for (const JsonValue& side : inner->elements) sides.push_back(side_in(side));
    }
    features_[name].shape = std::move(sides);
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
