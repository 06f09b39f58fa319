#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// What TensorFlow Datasets writes beside its TFRecord files about the features in them:
//   features.json      a tree: FeaturesDict (by name), Sequence and Dataset (of what is in them),
//                      Tensor, ClassLabel, Image, Text ...; the names on the way to a leaf, joined
//                      by '/', are the feature of the Example
//   X.labels.txt       the names of the classes of ClassLabel X, a line each; '-' joins names
// An Example has the elements of a Tensor one after the other, without a shape.
// Source: tensorflow_datasets/core/features/{feature,top_level_feature,class_label_feature}.py

namespace shale {

struct DescribedFeature {
  std::vector<std::uint64_t> shape;  ///< kFreeSide: any; a Sequence has such a side in front
  std::vector<std::string> classes;  ///< names by label
};
using DescribedFeatures = std::map<std::string, DescribedFeature, std::less<>>;

/// The features that the files beside `file` describe; none where there are no such files, and for
/// what is not as TFDS writes it. Memory: files of at most 4 MiB. Errors: Code::io.
[[nodiscard]] DescribedFeatures described_features(const std::string& file);

/// What a features.json says; `classes` are not in it.
[[nodiscard]] DescribedFeatures parse_features_json(std::string_view text);

/// The shape of `count` numbers by a description. Empty: they have no such shape.
[[nodiscard]] std::vector<std::uint64_t> shape_of_numbers(const std::vector<std::uint64_t>& shape,
                                                          std::uint64_t count);

}  // namespace shale
