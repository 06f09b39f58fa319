#include "shale/layouts/map_survey.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"
#include "shale/layouts/map_value.hpp"
#include "shale/wire/msgpack_sample.hpp"

namespace shale::layouts {
namespace {

// Proving that strings are UTF-8 takes reading them: only short ones are read.
constexpr std::uint64_t kLongestRead = 4096;

std::string describe_type(const MsgpackEntry& value) {
  if (value.type == MsgpackType::array) return "an array of values other than bytes and strings";
  if (value.type == MsgpackType::map) return "a map that is not a tensor";
  return std::string(shale::name_of(value.type));
}

}  // namespace

void MapSurvey::add(std::string_view key, const StoredValue& value) {
  value_ = &value;
  key_ = key;
  try {
    map_ = parse_map_of_fields(value.view, value.begin, value.length, value.where);
  } catch (const Error& error) {
    if (error.code() == Code::io) throw;
    refuse(fmt::format("the value cannot be split into fields ({})", error.message()));
  }
  check_key();
  found_.clear();
  for (const MsgpackEntry& entry : map_) {
    if (entry.name != "key") found_.push_back(field_of(entry));
  }
  try {
    common_.add(found_, key);
  } catch (const Error& error) {
    refuse(error.message());
  }
  ++count_;
}

Survey MapSurvey::survey(std::string_view where) && try {
  Survey survey = std::move(common_).survey(Dialect::msgpack);
  validate_schema(survey.schema);
  return survey;
} catch (Error& error) {
  if (!error.sample()) throw error.at(where);
  throw not_of_maps(error.message()).at(where).for_sample(error.sample()->key);
}

Error MapSurvey::not_of_maps(const std::string& fact) {
  return Error(Code::unsupported, "msgpack: {}", fact).hint(kPlainHint);
}

void MapSurvey::refuse(const std::string& fact) const {
  throw not_of_maps(fact).at(value_->where, value_->begin).for_sample(key_, count_);
}

void MapSurvey::check_key() {
  const MsgpackEntry* key = find_entry(map_, "key");
  const auto keys = std::ranges::count(map_, "key", &MsgpackEntry::name);
  if (keys > 1) refuse("its map has more than one 'key'");
  if (keys == 1 && !key->is_run()) {
    refuse(fmt::format("its 'key' is {}, not a string", shale::name_of(key->type)));
  }
  if (keys == 1 && key->length > kMaxKeyBytes) {
    refuse(fmt::format("its 'key' has {} bytes, more than the limit of {}", key->length,
                       kMaxKeyBytes));
  }
  if (count_ > 0 && keys != keys_) {
    refuse(fmt::format("a 'key' is {} this map, unlike in those before it",
                       keys == 1 ? "in" : "missing from"));
  }
  keys_ = keys;
}

// The field that a value makes; a fault: no kind can hold it.
LayoutField MapSurvey::field_of(const MsgpackEntry& value) const {
  LayoutField made{.field = {.name = value.name}, .cell = {}, .may_lack = true};
  Field& field = made.field;
  field.is_optional = value.type == MsgpackType::nil;
  if (field.is_optional) return made;
  // Both str and bin can hold bytes: a str is text until one of them is not.
  for (const Kind kind : {Kind::bytes, Kind::integer, Kind::real, Kind::list}) {
    field.kind = kind;
    if (!can_hold(field, value, false)) continue;
    if (kind == Kind::bytes && is_text(value)) field.kind = Kind::text;
    if (kind == Kind::list) {
      made.cell.place = {.offset = value.offset, .length = value.length, .count = value.count};
      field.elements = are_texts(value, made.cell.place) ? Kind::text : Kind::bytes;
    }
    return made;
  }
  if (std::optional<NumberList> list = numbers_in(value_->view, value, ListsOfNumbers::find)) {
    made.numbers = std::make_shared<NumberList>(std::move(*list));
    made.fault = list_fault(value.name);
    field.is_optional = true;
    return made;
  }
  field.kind = Kind::tensor;
  made.fault = take_tensor(field, value);
  field.is_optional = !made.fault.empty();
  return made;
}

// What is wrong with it; empty: nothing.
std::string MapSurvey::take_tensor(Field& field, const MsgpackEntry& value) const {
  const std::string name = printable(value.name);
  const auto tensor = read_tensor(value_->view, value, false);
  if (!tensor)
    return fmt::format("field '{}' is {}, which no field can hold", name, describe_type(value));
  field.shape = tensor->shape;
  try {
    field.dtype = DType::parse(tensor->dtype);
  } catch (const Error& error) {
    return fmt::format("field '{}': {}", name, error.message());
  }
  if (field.takes_tensor(field.shape, tensor->data.length)) return {};
  return fmt::format("field '{}' has {} bytes for a tensor {}", name, tensor->data.length,
                     array_text(field.dtype, field.shape));
}

// What is known to be bytes is not read.
bool MapSurvey::is_text(const MsgpackEntry& value) const {
  const Field* const known = common_.find(value.name, found_.size());
  const bool is_bytes = known != nullptr && known->kind == Kind::bytes;
  return !is_bytes && value.type == MsgpackType::text &&
         is_short_text({.offset = value.offset, .length = value.length});
}

bool MapSurvey::are_texts(const MsgpackEntry& value, const FieldPlace& list) const {
  const Field* const known = common_.find(value.name, found_.size());
  const bool are_bytes =
      known != nullptr && known->kind == Kind::list && known->elements == Kind::bytes;
  return !are_bytes && value.is_array_of(bit_of(MsgpackType::text)) &&
         std::ranges::all_of(walk_msgpack_list(value_->view, list),
                             [this](const FieldPlace& one) { return is_short_text(one); });
}

bool MapSurvey::is_short_text(const FieldPlace& place) const {
  return place.length <= kLongestRead && is_utf8(as_text(value_->view(place.offset, place.length)));
}

}  // namespace shale::layouts
