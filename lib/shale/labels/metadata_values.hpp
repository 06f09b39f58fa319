#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/schema.hpp"
#include "shale/format/source.hpp"
#include "shale/manifest/json_list.hpp"

// What values of metadata.jsonl become that are neither strings nor numbers, and how a row lies in
// a listing until its sample is read.

namespace shale {

/// The number that a string is known to be.
[[nodiscard]] double real_in(std::string_view text);

/// What a column of booleans, lists and objects becomes, from all of its values: lists of numbers
/// tensors (?), lists of equally long lists of numbers tensors (?, k), or (?, ?) where k differs,
/// lists of strings lists of text, booleans text, and everything else, in one row at least, JSON.
class NestedColumn {
 public:
  /// A value that is a boolean, a list or an object, as JSON.
  void note(std::string_view json);
  /// Without a name. Of a column without values: text.
  [[nodiscard]] Field field() const;

 private:
  void note_list(const JsonList& list);

  bool has_booleans_ = false, has_lists_ = false, has_others_ = false;  // objects, and other lists
  bool has_texts_ = false, has_numbers_ = false, has_reals_ = false, is_exact_ = true;
  bool has_flat_ = false, has_lists_of_lists_ = false;
  std::optional<std::uint64_t> width_;  // of the lists in lists; kFreeSide: it differs
};

/// Adds a value to the row of a sample, as ListedFile::row has it; nullopt for one that is absent,
/// of an optional field. Errors: Code::bug if the value is not one of the field.
void append_metadata_value(std::string& row, const Field& field,
                           const std::optional<std::string>& text);

/// Fills the cells of the last fields of a sample with its row (ListedFile::row). Errors:
/// Code::damaged.
void take_metadata_row(std::string_view row, const std::vector<Field>& fields,
                       PendingSample& sample);

}  // namespace shale
