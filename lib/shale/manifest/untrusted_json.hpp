#pragma once

#include <cstdint>
#include <string>

#include <nlohmann/json.hpp>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

// Untrusted JSON, member by member. nlohmann's own get<> casts a negative number to a huge one.
// Errors: Code::damaged for a member that is missing or of another type.

namespace shale {

using Json = nlohmann::ordered_json;

inline const Json& member(const Json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end()) throw Error(Code::damaged, "member '{}' is missing", name);
  return *found;
}
inline std::uint64_t number_at(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_number_unsigned())
    throw Error(Code::damaged, "member '{}' is not an integer", name);
  return value.get<std::uint64_t>();
}
inline const std::string& string_at(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_string()) throw Error(Code::damaged, "member '{}' is not a string", name);
  return value.get_ref<const std::string&>();
}
// A string of shale's own, which may go to a terminal: nothing that shale writes needs escaping.
inline std::string text_at(const Json& object, const char* name) {
  return printable(string_at(object, name));
}
inline bool flag_at(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_boolean()) throw Error(Code::damaged, "member '{}' is not true or false", name);
  return value.get<bool>();
}
inline const Json& array_at(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_array()) throw Error(Code::damaged, "member '{}' is not an array", name);
  return value;
}

}  // namespace shale
