#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/dtype.hpp"

// What TensorFlow Datasets writes beside its TFRecord files about the features in them:
//   features.json      a tree: FeaturesDict (by name), Sequence and Dataset (of what is in them),
//                      Tensor, ClassLabel, Image, Text ...; the names on the way to a leaf, joined
//                      by '/', are the feature of the Example. A Sequence of a Sequence is several:
//                      X/ragged_flat_values, X/ragged_row_lengths_0 ...
//   X.labels.txt       the names of the classes of ClassLabel X, a line each; '-' joins names
//   dataset_info.json  the splits, and how many records each of their files has
// An Example has the elements of a Tensor one after the other, without a shape; those of encoding
// "bytes" as one string, little-endian.
// Source: tensorflow_datasets/core/features/{feature,top_level_feature,class_label_feature}.py,
// core/example_serializer.py, core/splits.py; files that TFDS 4.9.10 wrote

namespace shale {

struct DescribedFeature {
  std::vector<std::uint64_t> shape;  ///< kFreeSide: any; a Sequence has such a side in front
  std::vector<std::string> classes;  ///< names by label
  std::optional<DType> dtype;        ///< of a Tensor whose elements are the bytes of one string
};
using DescribedFeatures = std::map<std::string, DescribedFeature, std::less<>>;

/// The features that the files beside `file` describe; none where there are no such files, and for
/// what is not as TFDS writes it. Memory: files of at most 4 MiB. Errors: Code::io.
[[nodiscard]] DescribedFeatures described_features(const std::string& file);

/// What a features.json says; `classes` are not in it.
[[nodiscard]] DescribedFeatures parse_features_json(std::string_view text);

/// How many records the dataset_info.json beside `file` says that it has; nullopt: it does not say.
/// Errors: Code::io.
[[nodiscard]] std::optional<std::uint64_t> described_records(const std::string& file);

/// The same of the text of a dataset_info.json, for a file of this name:
/// "NAME-SPLIT.tfrecord-00000-of-00002".
[[nodiscard]] std::optional<std::uint64_t> records_in_dataset_info(std::string_view text,
                                                                   std::string_view file_name);

/// The shape of `count` numbers by a description. Empty: they have no such shape.
[[nodiscard]] std::vector<std::uint64_t> shape_of_numbers(const std::vector<std::uint64_t>& shape,
                                                          std::uint64_t count);

}  // namespace shale
