#include "shale/data/field_choice.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/nearest_word.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/field_name.hpp"
#include "shale/data/field_type.hpp"
#include "shale/data/fixed_value.hpp"
#include "shale/data/stored_tensor.hpp"

namespace shale {
namespace {

bool is_in(const std::vector<std::string>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Error not_a_field(std::string_view option, const std::string& name, std::string_view fact,
                  const std::vector<std::string>& there,
                  std::string_view list = "its fields are ") {
  std::string shown;
  for (const std::string& one : there) shown += (shown.empty() ? "" : ", ") + printable(one);
  return Error(Code::usage, "{} names '{}', which {}", option, printable(name), fact)
      .hint(did_you_mean(name, there))
      .hint(std::string(list) + shown);
}

std::string why_not_there(const std::string& name, const LeftOutList& left_out) {
  const auto found = std::ranges::find(left_out.entries, name, &LeftOut::name);
  return found == left_out.entries.end()
             ? "is not a field of the input"
             : fmt::format("is left out of its fields ({})", found->reason);
}

// By its own name, or by that of what became it: `infos/qpos` is the field infos_qpos.
std::optional<std::size_t> field_called(const Schema& schema, const std::string& name) {
  const std::optional<std::size_t> field = schema.find(name);
  return field ? field : schema.find(field_name_of(name));
}

void append_name(std::string& text, std::string_view name) {
  for (const char c : name) {
    if (c == '\\' || c == ',' || c == ':') text += '\\';
    text += c;
  }
}

// What is in front of the next delimiter that has no backslash, without its backslashes; `text`
// becomes the rest, the delimiter included.
std::string take_name(std::string_view& text, std::string_view delimiters) {
  std::string name;
  std::size_t at = 0;
  for (; at < text.size() && delimiters.find(text[at]) == std::string_view::npos; ++at) {
    if (text[at] == '\\' && at + 1 < text.size()) ++at;
    name += text[at];
  }
  text.remove_prefix(at);
  return name;
}

// OLD:NEW,OLD:NEW, or what else such pairs are.
std::vector<FieldName> parse_pairs(std::string_view text, std::string_view option,
                                   std::string_view form) {
  std::vector<FieldName> pairs;
  for (std::string_view left = text; !left.empty() || pairs.empty();) {
    FieldName& one = pairs.emplace_back();
    one.of_input = take_name(left, ",:");
    if (left.starts_with(':')) one.name = take_name(left = left.substr(1), ",:");
    const bool is_last = left.size() < 2;
    if ((is_last ? !left.empty() : left.front() != ',') || one.of_input.empty() ||
        one.name.empty()) {
      throw Error(Code::usage, "{} '{}' does not have the form {},{}", option, printable(text),
                  form, form)
          .hint("a comma or a colon that belongs to a name has a backslash in front");
    }
    left.remove_prefix(is_last ? left.size() : 1);
  }
  return pairs;
}

constexpr std::string_view kReals =
    "bool, int8 to int64, uint8 to uint64, float16, float32, float64, bfloat16 and the float8 "
    "types "
    "of ml_dtypes";

// What numbers are cast to each other.
enum class NumberFamily : std::uint8_t { none, real, complex, datetime, timedelta };

NumberFamily family_of(const DType& dtype) {
  constexpr std::uint64_t kMostBytes = 8;
  const std::string_view descr = dtype.descr(), raw = raw_dtype_name(descr);
  if (raw == "bfloat16" || (raw.starts_with("float8_") && raw != "float8_e8m0fnu"))
    return NumberFamily::real;
  if (dtype.is_structured() || descr.size() < 3) return NumberFamily::none;
  if (descr[1] == 'M') return NumberFamily::datetime;
  if (descr[1] == 'm') return NumberFamily::timedelta;
  if (descr == "<c8" || descr == "<c16") return NumberFamily::complex;
  const bool is_real = std::string_view("biuf").find(descr[1]) != std::string_view::npos;
  return is_real && dtype.item_bytes() <= kMostBytes ? NumberFamily::real : NumberFamily::none;
}

bool is_time(const DType& dtype) {
  const NumberFamily family = family_of(dtype);
  return family == NumberFamily::datetime || family == NumberFamily::timedelta;
}

bool is_integer(const DType& dtype) {
  return family_of(dtype) == NumberFamily::real &&
         (dtype.descr()[1] == 'i' || dtype.descr()[1] == 'u');
}

// Years and months differ in length: their counts are of a unit of their own. -1: of no unit.
int measure_of_time(std::string_view descr) {
  if (!descr.ends_with(']')) return -1;
  const char unit = descr[descr.size() - 2];
  const bool is_single =
      descr[descr.size() - 3] == '[' ||
      std::string_view("0123456789").find(descr[descr.size() - 3]) != std::string_view::npos;
  return is_single && (unit == 'Y' || unit == 'M') ? 1 : 0;
}

// What else numbers of a type can become, for a hint.
std::string types_beside(const DType& dtype) {
  if (family_of(dtype) == NumberFamily::complex)
    return "complex numbers are cast to complex64 and complex128";
  if (is_time(dtype))
    return fmt::format("it can become integers, and {}64 of other units",
                       family_of(dtype) == NumberFamily::datetime ? "datetime" : "timedelta");
  return fmt::format("it can become {}", kReals);
}

bool holds_numbers(const Field& field) {
  return !is_located(field.kind) ||
         (field.kind == Kind::tensor && family_of(field.dtype) != NumberFamily::none);
}

}  // namespace

std::optional<DType> number_dtype(std::string_view name) {
  std::optional<DType> dtype;
  try {
    const Field type = parse_field_type(name);
    if (holds_numbers(type) && type.shape.empty() && !type.is_optional)
      dtype = dtype_of_column(type);
  } catch (const Error&) {
    return std::nullopt;
  }
  return dtype && family_of(*dtype) != NumberFamily::none ? dtype : std::nullopt;
}

std::string number_dtypes_text() {
  return fmt::format("{}, complex64, complex128, datetime64[UNIT] and timedelta64[UNIT]", kReals);
}

bool is_castable(const DType& from, const DType& to) {
  const NumberFamily before = family_of(from), after = family_of(to);
  if (before == NumberFamily::none || after == NumberFamily::none) return false;
  if (is_time(from) && is_time(to)) {
    const int measure = measure_of_time(from.descr());
    return before == after && measure >= 0 && measure == measure_of_time(to.descr());
  }
  if (is_time(from)) return is_integer(to);
  if (is_time(to)) return is_integer(from) && measure_of_time(to.descr()) >= 0;
  return before == after;
}

bool FieldChoice::takes(std::string_view name) const {
  return only.empty() ? !is_in(dropped, name) : is_in(only, name);
}

void take_renames(FieldChoice& choice, std::string_view text) {
  choice.uses_standard_names = text == kStandardNames;
  if (choice.uses_standard_names) return;
  try {
    choice.renamed = parse_pairs(text, "--rename", "OLD:NEW");
  } catch (Error& error) {
    if (text.find(':') == std::string_view::npos)
      error.hint(fmt::format("or pass --rename {}, for the names of TensorFlow's image sets",
                             kStandardNames));
    throw;
  }
}

// Source: tensorflow/models, research/object_detection/dataset_tools, research/slim/datasets.
std::string_view standard_name_of(std::string_view field) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"image_encoded", "image"},
      {"image_class_label", "label"},
      {"image_class_text", "class_name"},
      {"image_class_synset", "synset"},
      {"image_filename", "file_name"},
      {"image_source_id", "source_id"},
      {"image_key_sha256", "sha256"},
      {"image_format", "format"},
      {"image_colorspace", "colorspace"},
      {"image_channels", "channels"},
      {"image_height", "height"},
      {"image_width", "width"},
      {"image_object_class_label", "labels"},
      {"image_object_class_text", "class_names"},
      {"image_object_bbox_ymin", "ymin"},
      {"image_object_bbox_xmin", "xmin"},
      {"image_object_bbox_ymax", "ymax"},
      {"image_object_bbox_xmax", "xmax"},
      {"image_object_bbox_label", "labels"},
      {"image_object_area", "areas"},
      {"image_object_is_crowd", "is_crowd"},
      {"image_object_difficult", "difficult"},
      {"image_object_truncated", "truncated"},
      {"image_object_view", "views"},
      {"image_object_mask", "masks"},
      {"image_segmentation_class_encoded", "mask"}};
  const auto* found =
      std::ranges::find(kNames, field, &std::pair<std::string_view, std::string_view>::first);
  return found == std::ranges::end(kNames) ? std::string_view() : found->second;
}

std::vector<FieldCast> parse_casts(std::string_view text) {
  std::vector<FieldCast> casts;
  for (const auto& [field, type, none] : parse_pairs(text, "--cast", "FIELD:DTYPE")) {
    if (std::ranges::find(casts, field, &FieldCast::field) != casts.end())
      throw Error(Code::usage, "--cast names '{}' twice", printable(field));
    const std::optional<DType> dtype = number_dtype(type);
    if (!dtype) {
      throw Error(Code::usage, "--cast: '{}' is not a type of numbers", printable(type))
          .hint("the types are " + number_dtypes_text());
    }
    casts.push_back({field, *dtype});
  }
  return casts;
}

std::vector<std::vector<DType>> casts_of(const FieldChoice& choice, const Schema& schema) {
  std::vector<std::vector<DType>> steps(schema.fields.size());
  std::vector<std::string> all, castable;
  for (const Field& field : schema.fields) {
    all.push_back(field.name);
    if (holds_numbers(field)) castable.push_back(field.name);
  }
  for (const FieldCast& cast : choice.casts) {
    const std::optional<std::size_t> at = schema.find(cast.field);
    if (!at) throw not_a_field("--cast", cast.field, "is not a field of the result", all);
    const Field& field = schema.fields[*at];
    if (!holds_numbers(field)) {
      const std::string fact =
          fmt::format("is {}: only numbers and times are cast", field_type_text(field));
      if (castable.empty())
        throw Error(Code::usage, "--cast names '{}', which {}", printable(cast.field), fact)
            .hint("leave out the option");
      throw not_a_field("--cast", cast.field, fact, castable, "its fields of numbers are ");
    }
    const DType& before = steps[*at].empty() ? dtype_of_column(field) : steps[*at].back();
    if (before == cast.dtype) continue;
    if (!is_castable(before, cast.dtype))
      throw Error(Code::usage, "--cast cannot make {} of field '{}', which is {}",
                  dtype_text(cast.dtype), printable(cast.field), dtype_text(before))
          .hint(types_beside(before));
    steps[*at].push_back(cast.dtype);
  }
  return steps;
}

Field cast_field(const Field& field, const DType& dtype) {
  Field cast = field_of_column(field.name, dtype, field.shape);
  cast.is_optional = field.is_optional;
  return cast;
}

std::vector<std::size_t> taken_fields(const FieldChoice& choice, const Schema& schema,
                                      const LeftOutList& left_out) {
  std::vector<std::string> there;
  for (const Field& field : schema.fields) there.push_back(field.name);
  std::vector<std::size_t> fields;
  for (const std::string& name : choice.only) {
    const std::optional<std::size_t> field = field_called(schema, name);
    if (!field) throw not_a_field("--fields", name, why_not_there(name, left_out), there);
    if (std::ranges::find(fields, *field) != fields.end())
      throw not_a_field("--fields", name, "is named twice", there);
    fields.push_back(*field);
  }
  if (!choice.only.empty()) return fields;
  std::vector<bool> is_dropped(there.size());
  for (const std::string& name : choice.dropped) {
    if (const std::optional<std::size_t> field = field_called(schema, name))
      is_dropped[*field] = true;
    else if (std::ranges::count(left_out.entries, name, &LeftOut::name) == 0)
      throw not_a_field("--drop", name, "is not a field of the input", there);
  }
  for (std::size_t i = 0; i < there.size(); ++i) {
    if (!is_dropped[i]) fields.push_back(i);
  }
  if (fields.empty() && !there.empty())
    throw not_a_field("--drop", choice.dropped.back(), "is the last of its fields", there);
  return fields;
}

std::vector<std::string> new_names(const FieldChoice& choice, const Schema& schema,
                                   const std::vector<std::size_t>& fields) {
  std::vector<std::string> there, names;
  for (const std::size_t field : fields) there.push_back(schema.fields[field].name);
  names = there;
  if (choice.uses_standard_names) {
    for (std::string& name : names) {
      const std::string_view standard = standard_name_of(name);
      if (!standard.empty() && !is_in(names, standard)) name = standard;
    }
    if (names == there) {
      throw not_a_field("--rename", std::string(kStandardNames),
                        "gives none of its fields another name", there);
    }
  }
  std::vector<std::string> before;
  for (const FieldName& renamed : choice.renamed) {
    auto at = std::ranges::find(there, renamed.of_input);
    if (at == there.end()) at = std::ranges::find(there, field_name_of(renamed.of_input));
    if (at == there.end()) {
      throw not_a_field(
          "--rename", renamed.of_input,
          schema.find(renamed.of_input) ? "is not taken" : "is not a field of the input", there);
    }
    if (is_in(before, renamed.of_input))
      throw not_a_field("--rename", renamed.of_input, "is renamed twice", there);
    before.push_back(renamed.of_input);
    names[static_cast<std::size_t>(at - there.begin())] = renamed.name;
  }
  for (const FieldName& renamed : choice.renamed) {
    if (std::ranges::count(names, renamed.name) > 1) {
      throw Error(Code::usage, "--rename: two fields would have the name '{}'",
                  printable(renamed.name))
          .hint("rename the other one too, or leave it out with --drop");
    }
    try {
      validate_schema({.fields = {{.name = renamed.name}}});
    } catch (const Error& error) {
      throw Error(Code::usage, "--rename: {}", error.message()).hint("choose another name");
    }
  }
  return names;
}

LeftOutList without_dropped(const FieldChoice& choice, LeftOutList left_out) {
  // Pictures and files that are not taken are samples, not fields: nobody asked to lose them.
  const auto is_asked_for = [&](const LeftOut& one) {
    if (one.kind == "picture" || one.kind == "file") return false;
    return !choice.only.empty() || is_in(choice.dropped, one.name);
  };
  std::erase_if(left_out.entries, is_asked_for);
  if (!choice.only.empty()) left_out.more = 0;
  return left_out;
}

std::string field_names_text(const std::vector<FieldName>& names) {
  std::string text;
  for (const auto& [of_input, name, dtypes] : names) {
    if (!text.empty()) text += ',';
    append_name(text, of_input);
    if (name == of_input && dtypes.empty()) continue;
    text += ':';
    append_name(text, name);
    for (const std::string& dtype : dtypes) text += ':' + dtype;
  }
  return text;
}

std::vector<FieldName> field_names_of(std::string_view text) {
  std::vector<FieldName> names;
  while (!text.empty()) {
    FieldName& name = names.emplace_back();
    name.name = name.of_input = take_name(text, ",:");
    if (text.starts_with(':')) name.name = take_name(text = text.substr(1), ",:");
    while (text.starts_with(':')) name.dtypes.push_back(take_name(text = text.substr(1), ",:"));
    if (!text.empty()) text.remove_prefix(1);
  }
  return names;
}

FieldChoice recorded_choice(std::string_view recorded, const Schema& schema,
                            std::string_view option) {
  const std::vector<FieldName> theirs = field_names_of(option);
  FieldChoice choice;
  choice.is_lossy = true;  // what did not fit was accepted
  for (const auto& [of_input, name, dtypes] : field_names_of(recorded)) {
    const auto renamed = std::ranges::find(theirs, of_input, &FieldName::of_input);
    std::string there = renamed == theirs.end() ? of_input : renamed->name;
    if (!schema.find(there)) there = name;
    if (!schema.find(there) || is_in(choice.only, there)) continue;
    // What it was cast to before is not done again.
    const std::vector<std::string> before =
        renamed == theirs.end() ? std::vector<std::string>() : renamed->dtypes;
    const bool goes_on =
        before.size() <= dtypes.size() && std::equal(before.begin(), before.end(), dtypes.begin());
    std::size_t done = goes_on ? before.size() : 0;
    for (; done < dtypes.size(); ++done) {
      if (const std::optional<DType> dtype = number_dtype(dtypes[done]))
        choice.casts.push_back({name, *dtype});
    }
    choice.only.push_back(there);
    if (there != name) choice.renamed.push_back({std::move(there), name});
  }
  return choice;
}

std::optional<std::size_t> label_of(const Schema& schema, std::string_view option) {
  const std::vector<FieldName> names = field_names_of(option);
  const auto renamed = std::ranges::find(names, kLabelField, &FieldName::of_input);
  const std::optional<std::size_t> label =
      schema.find(renamed == names.end() ? kLabelField : std::string_view(renamed->name));
  return label && schema.fields[*label].kind == Kind::integer ? label : std::nullopt;
}

std::optional<std::size_t> label_of(const Manifest& manifest) {
  return label_of(manifest.schema, option_of(manifest, kFieldsOption));
}

}  // namespace shale
