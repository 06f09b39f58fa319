#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

// Lists of numbers, and of arrays, that values have as lists of their own: nothing of a file holds
// them as the elements of one array.

namespace shale::layouts {

/// What is wanted of them.
enum class ListsOfNumbers : std::uint8_t { find, read };

/// The numbers of a list, or of lists or arrays of one shape in it, in C order and little-endian.
struct NumberList {
  std::string dtype;  ///< empty: of a list without elements
  std::vector<std::uint64_t> shape;
  std::string data;                ///< empty where only the shape is asked for
  bool has_wide_integers = false;  ///< integers that float64 does not have
};
[[nodiscard]] NumberList list_of_integer(std::int64_t number);
[[nodiscard]] NumberList list_of_real(double number);

/// Why a field that is such a list is left out where it has to lie in the file.
[[nodiscard]] std::string list_fault(std::string_view name);

/// Stacks what is in a list along a first axis. Integers beside floats are float64.
class NumberStack {
 public:
  /// False: of another shape or dtype than those before it, an integer that float64 does not have
  /// beside floats, or more than 16 MiB in all.
  [[nodiscard]] bool add(NumberList part);
  [[nodiscard]] NumberList finish() &&;

 private:
  NumberList all_;
  std::uint64_t count_ = 0;
};

/// What the lists of each name have in common, in all values.
class NumberLists {
 public:
  void learn(std::string_view name, const NumberList& list);
  /// Whether there is a name whose lists can be arrays.
  [[nodiscard]] bool has_any() const;
  /// Makes a list an array like those of all others of its name. False: they are not alike.
  [[nodiscard]] bool fit(std::string_view name, NumberList& list) const;

 private:
  struct Facts {
    std::string dtype = {};
    std::vector<std::uint64_t> sides = {};  // 0 where they differ
    bool are_mixed = false, have_wide_integers = false;
  };
  std::map<std::string, Facts, std::less<>> facts_;
};

}  // namespace shale::layouts
