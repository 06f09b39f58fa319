#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace shale {

/// One option of a format, as its documentation and the command line show it.
struct OptionSpec {
  std::string_view name, summary, default_value;
  std::uint64_t minimum = 0, maximum = ~std::uint64_t{0};  ///< of a number
};

/// The option of a format that selects whose readers a file is for: --layout of convert.
inline constexpr std::string_view kLayoutOption = "layout";

/// Values for the options of one format.
class OptionSet {
 public:
  OptionSet() = default;
  explicit OptionSet(std::span<const OptionSpec> specs) : specs_(specs) {}

  /// Errors: Code::usage for a name the format does not have.
  void set(std::string_view name, std::string value);
  /// The value that was set, or the default. Errors: Code::bug for an unknown name.
  [[nodiscard]] std::string_view text(std::string_view name) const;
  /// Errors: Code::usage if the text is not a number within the option's range.
  [[nodiscard]] std::uint64_t number(std::string_view name) const;

 private:
  std::span<const OptionSpec> specs_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace shale
