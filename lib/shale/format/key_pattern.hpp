#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/dtype.hpp"
#include "shale/data/schema.hpp"

// Samples of a map of keys whose fields are entries of their own, as --parse asks for them:
//   FIELD[:KIND]=PATTERN, ..., count=KEY, from=N
// A pattern is a key with one place in it: %d is the number of the sample, %06d with zeros in
// front, {key} is its key. %% is a percent sign. `count` names the entry that holds the number of
// samples, `from` is the number of the first one, else 0.

namespace shale {

/// The entries that are one field.
struct KeyField {
  std::string name;
  std::optional<Kind> kind = {};    ///< nullopt: text where all values are, else bytes
  std::optional<DType> dtype = {};  ///< of a tensor: a value is nothing but its numbers, in a row
  std::string before, after;        ///< of a key, around what is captured
  bool is_numbered = false;         ///< a number is captured
  unsigned digits = 0;              ///< of a number: at least so many
  std::string database = {};        ///< in which they are; empty: the one that is read

  /// The key of a sample's entry, by what it has in that place.
  [[nodiscard]] std::string key_of(std::string_view captured) const;
  [[nodiscard]] std::string text_of(std::uint64_t number) const;
  /// What a key has in that place; nullopt: it is not an entry of this field.
  [[nodiscard]] std::optional<std::string_view> captured_in(std::string_view key) const;
};

struct KeyPattern {
  std::vector<KeyField> fields;  ///< one or more, with names that differ
  std::string count_key = {};    ///< empty: the samples go on as long as there are entries
  std::uint64_t from = 0;        ///< of numbers
  [[nodiscard]] bool is_numbered() const { return fields.front().is_numbered; }
  /// The field whose entry this key is: of several the one that says more of the key. nullopt:
  /// none.
  [[nodiscard]] std::optional<std::size_t> field_of(std::string_view key) const;
};

/// Errors: Code::usage for what is not such a pattern, saying how one is written.
[[nodiscard]] KeyPattern parse_key_pattern(std::string_view text);
/// What parse_key_pattern makes it of.
[[nodiscard]] std::string text_of(const KeyPattern& pattern);

/// A number as a count that is stored as text; nullopt for anything else.
[[nodiscard]] std::optional<std::uint64_t> count_in(std::string_view text);

/// The pattern of one key whose last run of digits is the number: "image-%09d" of
/// "image-000000001". Its name is what is left of the key. nullopt for a key without a number.
[[nodiscard]] std::optional<KeyField> numbered_field_of(std::string_view key);

}  // namespace shale
