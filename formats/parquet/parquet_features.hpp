#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/format/format.hpp"
#include "shale/parquet/parquet_metadata.hpp"

// What a field becomes in a file, and what the library `datasets` takes it for: in every file, as
// JSON, and in the README.md of a dataset, as YAML. FORMAT.md, "fields".

namespace shale {

inline constexpr std::string_view kKeyColumn = "key", kHuggingfaceKey = "huggingface";

/// A tensor that is stored as a list of numbers, or of lists of `inner` numbers.
struct ListedNumbers {
  ParquetType type;
  std::uint64_t inner;
};
/// Nullopt: the field is none. One axis, or two of which the first is free; numbers of 4 or 8
/// bytes.
[[nodiscard]] std::optional<ListedNumbers> numbers_in(const Field& field);
/// True for any other tensor: its values are .npy files.
[[nodiscard]] bool is_npy(const Field& field);

/// The feature of a field of bytes, or of a list of them, by a word in its name: "Image"; empty:
/// none.
[[nodiscard]] std::string_view media_of(const Field& field);

/// `features` of all fields, as JSON.
[[nodiscard]] std::string huggingface_json(const Schema& schema, const LabelNames& names,
                                           bool keys_are_text);
/// The same as YAML, a line each, with two spaces in front.
[[nodiscard]] std::string huggingface_yaml(const Schema& schema, const LabelNames& names,
                                           bool keys_are_text);

/// What these names add to a file, at most; 0: a file has no room for them.
[[nodiscard]] std::uint64_t bytes_of_class_names(std::span<const std::string> names);
/// The names of labels in the JSON of a file. Empty: it has none.
[[nodiscard]] std::vector<std::string> class_names_in(std::span<const ParquetKeyValue> pairs,
                                                      std::string_view field);

}  // namespace shale
