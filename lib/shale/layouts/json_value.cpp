#include "shale/layouts/json_value.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/data/field_name.hpp"
#include "shale/layouts/layout_field.hpp"
#include "shale/layouts/msgpack_text.hpp"

namespace shale::layouts {
namespace {

using Type = JsonValue::Type;

constexpr std::string_view kOnlyField = "values";

JsonValue parsed(std::string_view text) {
  std::optional<JsonValue> value = parse_json(text);
  if (!value) throw Error(Code::unsupported, "is not JSON of at most 65536 values, 64 deep");
  if (value->type == Type::object) return std::move(*value);
  if (value->type != Type::array)
    throw Error(Code::unsupported, "is JSON, but not an object or an array");
  return {
      .type = Type::object, .elements = {std::move(*value)}, .names = {std::string(kOnlyField)}};
}

template <class Number>
std::optional<Number> number_of(const std::string& text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

bool is_number(const JsonValue& value) {
  return value.type == Type::number || value.type == Type::boolean;
}

// An integer that 64 bits do not hold: no digit of it is to be lost.
bool is_large(const JsonValue& value) {
  return value.type == Type::number && value.text.find_first_of(".eE") == std::string::npos &&
         !number_of<std::int64_t>(value.text);
}

bool is_integer(const JsonValue& value) {
  return value.type == Type::boolean || number_of<std::int64_t>(value.text).has_value();
}

std::int64_t integer_of(const JsonValue& value) {
  if (value.type == Type::boolean) return value.text == "true" ? 1 : 0;
  return number_of<std::int64_t>(value.text).value_or(0);
}

double real_of(const JsonValue& value) {
  if (value.type == Type::boolean) return value.text == "true" ? 1 : 0;
  return number_of<double>(value.text).value_or(0);
}

// The sides of a list of numbers, or of such lists of equal sides; nullopt for any other.
std::optional<std::vector<std::uint64_t>> sides_of(const JsonValue& list) {
  if (std::ranges::all_of(list.elements, is_number)) return {{list.elements.size()}};
  std::optional<std::vector<std::uint64_t>> inner;
  for (const JsonValue& element : list.elements) {
    if (element.type != Type::array) return std::nullopt;
    const auto sides = sides_of(element);
    if (!sides || (inner && *inner != *sides)) return std::nullopt;
    inner = sides;
  }
  inner->insert(inner->begin(), list.elements.size());
  return inner;
}

void for_each_number(const JsonValue& value, const auto& use) {
  if (value.type != Type::array) return use(value);
  for (const JsonValue& element : value.elements) for_each_number(element, use);
}

void append_json(const JsonValue& value, std::string& into) {
  const auto append_text = [&](std::string_view text) {
    into += '"';
    for (const char byte : text) {
      const auto code = static_cast<unsigned char>(byte);
      constexpr std::string_view kHex = "0123456789abcdef";
      if (byte == '"' || byte == '\\') into += '\\';
      if (code >= 0x20) {
        into += byte;
      } else {
        into += "\\u00";
        into += {kHex[code >> 4U], kHex[code & 15U]};
      }
    }
    into += '"';
  };
  switch (value.type) {
    case Type::null:
      into += "null";
      return;
    case Type::boolean:
    case Type::number:
      into += value.text;
      return;
    case Type::string:
      return append_text(value.text);
    case Type::array:
    case Type::object:
      break;
  }
  const bool is_object = value.type == Type::object;
  into += is_object ? '{' : '[';
  for (std::size_t i = 0; i < value.elements.size(); ++i) {
    if (i > 0) into += ',';
    if (is_object) {
      append_text(value.names[i]);
      into += ':';
    }
    append_json(value.elements[i], into);
  }
  into += is_object ? '}' : ']';
}

}  // namespace

bool begins_like_json(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  return begin != std::string_view::npos && (text[begin] == '{' || text[begin] == '[');
}

void JsonPacking::learn(std::string_view text) { learn(parsed(text), ""); }

void JsonPacking::learn(const JsonValue& value, const std::string& name) {
  if (value.type == Type::object) {
    if (value.names.size() > kMostFields)
      throw Error(Code::unsupported, "is a JSON object of {} names, at most {} are fields",
                  value.names.size(), kMostFields);
    for (std::size_t i = 0; i < value.names.size(); ++i)
      learn(value.elements[i], field_name_of(name + (name.empty() ? "" : "_") + value.names[i]));
    return;
  }
  if (value.type != Type::array && value.type != Type::number) return;
  if (facts_.size() >= kMostFields && !facts_.contains(name))
    throw Error(Code::unsupported, "has more than {} names of numbers and lists", kMostFields);
  Facts& facts = facts_[name];
  if (value.type == Type::array) return learn_list(value, facts);
  facts.learn_number(value);
}

void JsonPacking::Facts::learn_number(const JsonValue& number) {
  constexpr std::int64_t kWidest = std::int64_t{1} << 53;  // float64 has all integers up to it
  const bool is_beyond = is_large(number);
  const std::int64_t integer = integer_of(number);
  has_large = has_large || is_beyond;
  has_wide = has_wide || integer > kWidest || integer < -kWidest;
  has_reals = has_reals || (!is_beyond && !is_integer(number));
}

void JsonPacking::learn_list(const JsonValue& list, Facts& facts) const {
  if (list.elements.empty()) return;
  const auto is_text = [](const JsonValue& one) { return one.type == Type::string; };
  if (std::ranges::all_of(list.elements, is_text)) {
    facts.has_texts = true;
    return;
  }
  const auto sides = sides_of(list);
  const bool is_new = !facts.has_numbers;
  if (!sides || (!is_new && sides->size() != facts.sides.size())) {
    facts.has_others = true;
    return;
  }
  if (is_new) facts.sides = *sides;
  facts.has_numbers = true;
  for (std::size_t i = 0; i < sides->size(); ++i)
    if ((*sides)[i] != facts.sides[i]) facts.sides[i] = 0;
  for_each_number(list, [&](const JsonValue& number) { facts.learn_number(number); });
}

std::string JsonPacking::pack(std::string_view text) const {
  std::string packed;
  pack_object(parsed(text), "", packed);
  return packed;
}

void JsonPacking::pack_object(const JsonValue& object, const std::string& name,
                              std::string& into) const {
  // Of a name that is there twice the last one counts, as for every other reader.
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < object.names.size(); ++i)
    if (object.find(object.names[i]) == &object.elements[i]) kept.push_back(i);
  append_map(kept.size(), into);
  for (const std::size_t i : kept) {
    append_text(name.empty() ? field_name_of(object.names[i]) : object.names[i], into);
    pack(object.elements[i], field_name_of(name + (name.empty() ? "" : "_") + object.names[i]),
         into);
  }
}

void JsonPacking::pack(const JsonValue& value, const std::string& name, std::string& into) const {
  static const Facts kNone;
  const auto known = facts_.find(name);
  const Facts& facts = known == facts_.end() ? kNone : known->second;
  switch (value.type) {
    case Type::null:
      into += '\xc0';
      return;
    case Type::boolean:
      return append_integer(integer_of(value), into);
    case Type::number:
      if (facts.loses_digits()) return append_text(value.text, into);
      if (facts.has_reals) return append_real(real_of(value), into);
      return append_integer(integer_of(value), into);
    case Type::string:
      return append_text(value.text, into);
    case Type::array:
      return pack_list(value, facts, into);
    case Type::object:
      return pack_object(value, name, into);
  }
}

void JsonPacking::pack_list(const JsonValue& list, const Facts& facts, std::string& into) const {
  const bool is_array = !facts.has_others && !facts.loses_digits();
  if (!is_array || (facts.has_texts && facts.has_numbers)) {
    std::string text;
    append_json(list, text);
    return append_text(text, into);
  }
  if (!facts.has_numbers) {
    append_array(list.elements.size(), into);
    for (const JsonValue& element : list.elements) append_text(element.text, into);
    return;
  }
  std::vector<std::uint64_t> sides = list.elements.empty() ? facts.sides : *sides_of(list);
  if (list.elements.empty()) sides.front() = 0;
  std::string data;
  for_each_number(list, [&](const JsonValue& number) {
    append_number(facts.has_reals ? std::bit_cast<std::uint64_t>(real_of(number))
                                  : static_cast<std::uint64_t>(integer_of(number)),
                  data);
  });
  append_numpy(facts.has_reals ? "<f8" : "<i8", sides, data, into);
}

}  // namespace shale::layouts
