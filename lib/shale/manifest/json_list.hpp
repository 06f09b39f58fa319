#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shale {

/// An array of JSON that a field can hold: of numbers, of strings, or of arrays of numbers that are
/// equally long. Strings, numbers and arrays in it are all of one kind; integers and reals are
/// numbers.
struct JsonList {
  std::vector<std::uint64_t> sides = {};  ///< (n), or (n, k); no k if n is 0
  bool has_reals = false;                 ///< numbers that are written with point or exponent
  std::vector<std::string> texts = {};
  std::vector<std::int64_t> integers = {};  ///< all numbers, unless there are reals
  std::vector<double> reals = {};           ///< all numbers
  bool is_exact = true;  ///< each integer is a double; of integers alone it does not matter

  [[nodiscard]] bool has_texts() const { return !texts.empty(); }
  [[nodiscard]] bool has_numbers() const { return !reals.empty(); }
};

/// The array in a string that is valid JSON; nullopt for anything else: other values, null among
/// them, integers of more than 64 bits, more than two levels. Memory: some 24 bytes per byte.
[[nodiscard]] std::optional<JsonList> parse_json_list(std::string_view json);

}  // namespace shale
