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

/// The option of manifests that says which fields of an input were taken, their names from there
/// on, and what they were cast to: "image:images,label,x:x:float32". Absent: all, as they are.
inline constexpr std::string_view kFieldsOption = "fields";

/// The option that says that numbers which did not fit their types became the nearest that do:
/// "yes". Absent: there were none.
inline constexpr std::string_view kLossyOption = "lossy";

/// The field that labels are in, unless it was renamed.
inline constexpr std::string_view kLabelField = "label";

/// A field by its name in an input, and its name in what is made of it.
struct FieldName {
  std::string of_input, name;
  std::vector<std::string> dtypes = {};  ///< that it was cast to, one after the other: "float32"
  friend bool operator==(const FieldName&, const FieldName&) = default;
};

/// A field by its new name, and the type that its numbers get.
struct FieldCast {
  std::string field;
  DType dtype;
  friend bool operator==(const FieldCast&, const FieldCast&) = default;
};

/// Which fields of an input are taken, what they are called from there on, and of what type their
/// numbers are.
struct FieldChoice {
  std::vector<std::string> only = {};     ///< in this order; empty: all
  std::vector<std::string> dropped = {};  ///< not with `only`
  std::vector<FieldName> renamed = {};
  bool uses_standard_names = false;   ///< as standard_name_of has them; not with `renamed`
  std::vector<FieldCast> casts = {};  ///< of one field one after the other
  bool is_lossy = false;              ///< numbers that do not fit become the nearest that do

  /// True for a field of this name, if there is one.
  [[nodiscard]] bool takes(std::string_view name) const;
  [[nodiscard]] bool takes_all() const { return only.empty() && dropped.empty(); }
  [[nodiscard]] bool renames() const { return !renamed.empty() || uses_standard_names; }
  [[nodiscard]] bool is_empty() const { return takes_all() && !renames() && casts.empty(); }
};

/// The word of --rename that gives fields their standard names.
inline constexpr std::string_view kStandardNames = "standard";

/// Takes the words of --rename into a choice: "image:images,label:labels", or kStandardNames.
/// Errors: Code::usage for another form.
void take_renames(FieldChoice& choice, std::string_view text);

/// A type of numbers by its name, "uint16", "bfloat16", "datetime64[ns]"; nullopt for any other
/// word.
[[nodiscard]] std::optional<DType> number_dtype(std::string_view name);
/// Names of such types, for messages.
[[nodiscard]] std::string number_dtypes_text();

/// The words of --cast: "x:float32,y:uint16". Errors: Code::usage for another form, a field that is
/// named twice, and what is not a type of numbers.
[[nodiscard]] std::vector<FieldCast> parse_casts(std::string_view text);

/// True where the numbers of one type may be cast to the other: bool, integers and floats, those of
/// ml_dtypes too, to each other; complex numbers, and times of comparable units, to each other;
/// times from integers and to them.
[[nodiscard]] bool is_castable(const DType& from, const DType& to);

/// For each field of a schema, which has its new name, the types that it is cast to, one after the
/// other. Errors: Code::usage, with the names that there are, for one that there is not, or that
/// does not hold numbers; with the types that there are, for one that its numbers cannot have.
[[nodiscard]] std::vector<std::vector<DType>> casts_of(const FieldChoice& choice,
                                                       const Schema& schema);

/// What a field is once its numbers are of another type.
[[nodiscard]] Field cast_field(const Field& field, const DType& dtype);

/// The name under which users look for a field of an input that has the names of TensorFlow's image
/// sets: "image" for image_encoded. Empty: it has no other.
[[nodiscard]] std::string_view standard_name_of(std::string_view field);

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
