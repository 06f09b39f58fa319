#include "shale/layouts/layout_field.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/common_field.hpp"
#include "shale/data/fixed_value.hpp"

namespace shale::layouts {
namespace {

// What a field is, in words: "a tensor float32 (2,)".
std::string type_text(const Field& field) {
  return field.kind == Kind::tensor ? "a tensor " + array_text(field.dtype, field.shape)
                                    : std::string(name_of(field.kind));
}

}  // namespace

LayoutField placed_field(std::string_view name, Kind kind, const FieldPlace& place) {
  return {.field = {.name = std::string(name), .kind = kind}, .cell = {.place = place}};
}
LayoutField integer_field(std::string_view name, std::int64_t number) {
  return {.field = {.name = std::string(name), .kind = Kind::integer},
          .cell = {.place = {}, .integer = number}};
}
LayoutField real_field(std::string_view name, double number) {
  return {.field = {.name = std::string(name), .kind = Kind::real},
          .cell = {.place = {}, .real = number}};
}

std::optional<LayoutField> array_field(std::string_view name, DType dtype,
                                       std::vector<std::uint64_t> shape, const FieldPlace& data) {
  LayoutField made{.field = {.name = std::string(name), .kind = Kind::tensor}, .cell = {}};
  const bool is_bytes = shape.size() == 1 && dtype == DType::parse("|u1");
  made.field.dtype = std::move(dtype);
  made.field.shape = std::move(shape);
  if (made.field.tensor_bytes() != data.length) return std::nullopt;
  if (is_bytes) made.field = {.name = std::string(name), .kind = Kind::bytes};
  made.cell.place = data;
  return made;
}

std::optional<LayoutField> number_field(std::string_view name, const DType& dtype,
                                        const ViewBytes& view, std::uint64_t offset) {
  constexpr std::uint64_t kLongestNumber = 8;
  const std::optional<Kind> kind = scalar_kind_of(dtype);
  if (!kind || dtype.item_bytes() > kLongestNumber) return std::nullopt;
  const Field stored{.name = std::string(name), .kind = *kind, .dtype = dtype};
  return LayoutField{.field = {.name = std::string(name), .kind = *kind},
                     .cell = read_number(view(offset, dtype.item_bytes()), stored)};
}

void name_image_and_label(std::vector<LayoutField>& components) {
  if (components.size() != 2) return;
  Field &image = components[0].field, &label = components[1].field;
  const bool is_image = image.kind == Kind::bytes || image.kind == Kind::tensor;
  if (!is_image || label.kind != Kind::integer) return;
  image.name = "image";
  label.name = "label";
}

const LayoutField* find_field(const std::vector<LayoutField>& found, std::string_view name,
                              std::size_t at) {
  if (at < found.size() && found[at].field.name == name) return &found[at];
  const auto has_name = [&](const LayoutField& one) { return one.field.name == name; };
  const auto place = std::ranges::find_if(found, has_name);
  return place == found.end() ? nullptr : &*place;
}

bool fit_schema(const std::vector<LayoutField>& found, const Schema& schema) {
  std::ptrdiff_t met = 0;
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    const LayoutField* const one = find_field(found, field.name, i);
    const bool has_value = one != nullptr && !one->field.is_optional;
    if (has_value ? !is_wide_enough(field, one->field) : !field.is_optional) return false;
    met += has_value ? 1 : 0;
  }
  return met == std::ranges::count_if(found, [&](const LayoutField& one) {
           return !one.field.is_optional && (!one.may_lack || schema.find(one.field.name));
         });
}

std::size_t CommonFields::place_of(std::string_view name, std::size_t at) const {
  if (at < fields_.size() && fields_[at].name == name) return at;
  return static_cast<std::size_t>(std::ranges::find(fields_, name, &Field::name) - fields_.begin());
}

const Field* CommonFields::find(std::string_view name, std::size_t at) const {
  const std::size_t place = place_of(name, at);
  return place == fields_.size() ? nullptr : &fields_[place];
}

void CommonFields::add(const std::vector<LayoutField>& found, std::string_view key) {
  ++values_;
  const bool may_lack = std::ranges::all_of(found, &LayoutField::may_lack);
  if (values_ > 1 && !may_lack && found.size() != fields_.size()) {
    throw Error(Code::unsupported, "the value has {} fields, but those before it {}", found.size(),
                fields_.size());
  }
  for (std::size_t i = 0; i < found.size(); ++i) take(found[i], i, key);
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (last_met_[i] != values_) fields_[i].is_optional = true;
  }
}

void CommonFields::leave_out(const LayoutField& one, std::string_view key, std::string fault,
                             std::string reason) {
  const std::string& name = one.field.name;
  unheld_.push_back({name, std::string(key), std::move(fault), std::move(reason)});
  std::erase(without_value_, name);
  const std::size_t place = place_of(name, 0);
  if (place == fields_.size()) return;
  fields_.erase(fields_.begin() + static_cast<std::ptrdiff_t>(place));
  last_met_.erase(last_met_.begin() + static_cast<std::ptrdiff_t>(place));
}

void CommonFields::take(const LayoutField& one, std::size_t at, std::string_view key) {
  const Field& field = one.field;
  if (!unheld_.empty() && std::ranges::find(unheld_, field.name, &Unheld::name) != unheld_.end())
    return;
  const std::size_t place = place_of(field.name, at);
  const bool is_new = place == fields_.size();
  const auto refused = [&](std::string_view fact) {
    return Error(Code::unsupported, "field '{}' {}", printable(field.name), fact);
  };
  if (is_new && fields_.size() + without_value_.size() + unheld_.size() >= kMostFields)
    throw Error(Code::unsupported, "the values have more than the limit of {} fields", kMostFields);
  if (!one.fault.empty())
    return leave_out(one, key, one.fault, one.numbers ? "list_of_numbers" : "type_not_held");
  if (field.is_optional) {
    const bool is_noted =
        !is_new || std::ranges::find(without_value_, field.name) != without_value_.end();
    if (!is_noted) without_value_.push_back(field.name);
    return;
  }
  has_text_elements_ =
      has_text_elements_ || (field.elements == Kind::text && one.cell.place.count > 0);
  if (is_new) {
    if (values_ > 1 && !one.may_lack) throw refused("is missing from the values before it");
    fields_.push_back(field);
    fields_.back().is_optional = values_ > 1;
    last_met_.push_back(values_);
    std::erase(without_value_, field.name);
    return;
  }
  if (last_met_[place] == values_) throw refused("occurs twice");
  last_met_[place] = values_;
  Field& known = fields_[place];
  if (widen(known, field)) return;
  const Error other = refused(
      fmt::format("is {}, but in the values before it {}", type_text(field), type_text(known)));
  if (!one.may_lack) throw Error(other);
  leave_out(one, key, other.message(), "mixed_types");
}

Survey CommonFields::survey(Dialect dialect) && {
  if (fields_.empty() && !unheld_.empty())
    throw Error(Code::unsupported, "{}", unheld_.front().fault).for_sample(unheld_.front().key);
  // Lists of nothing.
  for (Field& field : fields_) {
    if (!has_text_elements_) field.elements = Kind::bytes;
  }
  Survey survey = Survey::of_one_file({.fields = std::move(fields_)}, dialect);
  for (const std::string& name : without_value_) {
    // What is None in some values has entries of its own in others: `meta` and `meta_size`.
    const auto is_in_it = [&](const Field& one) { return one.name.starts_with(name + '_'); };
    if (std::ranges::any_of(survey.schema.fields, is_in_it)) continue;
    survey.notes.push_back(
        fmt::format("'{}' is left out: it is None in every value that has it", printable(name)));
    survey.left_out.add({.kind = "entry", .name = name, .reason = "no_value"});
  }
  for (const Unheld& one : unheld_) {
    survey.notes.push_back(fmt::format("'{}' is left out: in the value of '{}' {}",
                                       printable(one.name), printable(one.key), one.fault));
    survey.left_out.add({.kind = "entry", .name = one.name, .reason = one.reason});
  }
  return survey;
}

}  // namespace shale::layouts
