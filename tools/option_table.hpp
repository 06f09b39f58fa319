#pragma once

#include <string_view>
#include <vector>

namespace shale::tools {

enum OptionTraits : unsigned {
  kPlain = 0,
  kRepeated = 1,    ///< it may be given several times
  kCommon = 2,      ///< listed last, under "common options"
  kOfTerminals = 4  ///< no function of the Python package has it
};

/// One option: parsing, help, completion, and the arguments of the Python package follow from it.
struct Option {
  std::string_view commands;  ///< those that have it: "convert resample"
  std::string_view name;      ///< without the dashes
  /// "SIZE", "auto|direct|buffered"; empty: it takes none. For what Python has as something else
  /// than a string, python/shale/_words.py has a row.
  std::string_view value;
  std::string_view default_text;  ///< empty: none
  std::string_view help;
  unsigned traits = kPlain;
  std::string_view argument = {};  ///< what Python calls it, where that is not its name

  [[nodiscard]] bool is(OptionTraits trait) const { return (traits & trait) != 0; }
};

/// The options of a command, in the order of its help.
[[nodiscard]] std::vector<const Option*> options_of(std::string_view command);

/// The lower-case words of the name of a value, or of operands: of "skip|keep" both, of "N|P%"
/// none.
[[nodiscard]] std::vector<std::string_view> choices_in(std::string_view value_name);

}  // namespace shale::tools
