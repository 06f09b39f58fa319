#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/json_text.hpp"

// Values that are JSON objects or arrays, made into msgpack maps, whose fields lie in place.

namespace shale::layouts {

/// True for what begins as an object or array of JSON.
[[nodiscard]] bool begins_like_json(std::string_view text);

/// Learns from all values what their lists hold, then packs each of them: an object as a map, its
/// objects as maps in it; a list of numbers, or of such lists of one length, as msgpack-numpy packs
/// an array of int64, of float64 where a number in any of them is not an integer; a list of strings
/// as one; any other list, and each list of a name whose lists differ in kind or rank, as JSON.
/// Numbers of a name are strings, and its lists JSON, where one is beyond int64, or beyond 2^53 and
/// another no integer: no digit is lost. A value that is an array has one field, `values`. Names
/// are as field_name_of has them.
class JsonPacking {
 public:
  /// Errors: Code::unsupported for what is not an object or array, is nested too deep (parse_json),
  /// or would have more than 1024 fields.
  void learn(std::string_view text);
  /// Only what learn() has seen is packed. Errors: same.
  [[nodiscard]] std::string pack(std::string_view text) const;

 private:
  // Of all lists and numbers that have the same names in front of them.
  struct Facts {
    bool has_reals = false, has_numbers = false, has_texts = false, has_others = false;
    bool has_wide = false, has_large = false;  // integers beyond 2^53, beyond int64
    std::vector<std::uint64_t> sides = {};     // of lists of numbers: 0 where they differ
    void learn_number(const JsonValue& number);
    [[nodiscard]] bool loses_digits() const { return has_large || (has_wide && has_reals); }
  };
  void learn(const JsonValue& value, const std::string& name);
  void learn_list(const JsonValue& list, Facts& facts) const;
  void pack(const JsonValue& value, const std::string& name, std::string& into) const;
  void pack_object(const JsonValue& object, const std::string& name, std::string& into) const;
  void pack_list(const JsonValue& list, const Facts& facts, std::string& into) const;

  std::map<std::string, Facts, std::less<>> facts_;
};

}  // namespace shale::layouts
