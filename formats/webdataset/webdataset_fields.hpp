#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/schema.hpp"

// The fields that the extensions of members are. What a survey finds is told the scan by the schema
// alone, so names follow from it: the whole extension, with '_' for its dots, goes before the short
// name.

namespace shale {

/// What the last part of an extension says of a value.
enum class ValueType { bytes, text, json, integer, array };
[[nodiscard]] ValueType value_type_of(std::string_view extension);

/// "jpg", "png": one part, and an image.
[[nodiscard]] bool is_image_extension(std::string_view extension);

/// Names of fields by extension. `has_one_image`: no sample has two images of extensions of one
/// part, which then are one field, `image`. Extensions whose names would not be told apart have
/// none.
[[nodiscard]] std::map<std::string, std::string> fields_of_extensions(
    const std::vector<std::string>& extensions, bool has_one_image);

/// The names if nothing is renamed: dots are '_' (--parse plain).
[[nodiscard]] std::map<std::string, std::string> plain_fields_of_extensions(
    const std::vector<std::string>& extensions);

/// The field of a schema that was made of such names; nullopt: it has none for this extension.
[[nodiscard]] std::optional<std::size_t> field_of_extension(const Schema& schema,
                                                            std::string_view extension);

/// A member of a list in an archive that shale wrote: "frames.00002.jpg", or "frames.list" of one
/// without elements. All of them are of the extension "frames.list".
struct ListMember {
  std::string extension;
  std::optional<std::uint64_t> element;
};
[[nodiscard]] std::optional<ListMember> list_member(std::string_view extension);

/// "image <- .jpg .png, label <- .cls": the extensions of each field that is not called like its
/// own; empty: there is none.
[[nodiscard]] std::string renamed_text(
    const std::map<std::string, std::vector<std::string>>& extensions);

/// The number that a `.cls` file holds: ASCII digits, with a sign or without one, and blanks around
/// it. Nullopt for anything else.
[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view text);
/// No such file is larger.
inline constexpr std::uint64_t kMostNumberBytes = 64;

}  // namespace shale
