#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/left_out.hpp"
#include "shale/data/manifest.hpp"
#include "shale/data/schema.hpp"

namespace shale {

/// The option of manifests that says which fields of an input were taken, and their names from
/// there on: "image:images,label". Absent: all, as they are called.
inline constexpr std::string_view kFieldsOption = "fields";

/// The field that labels are in, unless it was renamed.
inline constexpr std::string_view kLabelField = "label";

/// A field by its name in an input, and its name in what is made of it.
struct FieldName {
  std::string of_input, name;
  friend bool operator==(const FieldName&, const FieldName&) = default;
};

/// Which fields of an input are taken, and what they are called from there on.
struct FieldChoice {
  std::vector<std::string> only = {};     ///< in this order; empty: all
  std::vector<std::string> dropped = {};  ///< not with `only`
  std::vector<FieldName> renamed = {};

  /// True for a field of this name, if there is one.
  [[nodiscard]] bool takes(std::string_view name) const;
  [[nodiscard]] bool takes_all() const { return only.empty() && dropped.empty(); }
  [[nodiscard]] bool is_empty() const { return takes_all() && renamed.empty(); }
};

/// The words of --rename: "image:images,label:labels". Errors: Code::usage for another form.
[[nodiscard]] std::vector<FieldName> parse_renames(std::string_view text);

/// The positions of the fields that are taken, in order. What was left out of the input already may
/// be dropped. Errors: Code::usage, with the names that there are, for one that there is not, that
/// is named twice, and where none is left.
[[nodiscard]] std::vector<std::size_t> taken_fields(const FieldChoice& choice, const Schema& schema,
                                                    const LeftOutList& left_out = {});

/// The names that fields get, which are `fields` of a schema. Errors: Code::usage, with the names
/// that there are, for one that is not taken, that is renamed twice, that no field can have, or
/// that two would have.
[[nodiscard]] std::vector<std::string> new_names(const FieldChoice& choice, const Schema& schema,
                                                 const std::vector<std::size_t>& fields);

/// What was left out of an input, but for what the choice leaves out anyway.
[[nodiscard]] LeftOutList without_dropped(const FieldChoice& choice, LeftOutList left_out);

/// The value of kFieldsOption, and back: a comma, a colon or a backslash in a name has a backslash
/// in front.
[[nodiscard]] std::string field_names_text(const std::vector<FieldName>& names);
[[nodiscard]] std::vector<FieldName> field_names_of(std::string_view text);

/// The choice that makes of an input what such an option says. `schema` and `option`: of the input,
/// which may have renamed fields itself. What it does not have is not asked for.
[[nodiscard]] FieldChoice recorded_choice(std::string_view recorded, const Schema& schema,
                                          std::string_view option);

/// The field of labels, if they are integers; `option`: how the fields were renamed.
[[nodiscard]] std::optional<std::size_t> label_of(const Schema& schema, std::string_view option);
[[nodiscard]] std::optional<std::size_t> label_of(const Manifest& manifest);

}  // namespace shale
