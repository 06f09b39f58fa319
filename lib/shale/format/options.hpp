#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

namespace shale {

/// One option of a format, which its FORMAT.md describes.
struct OptionSpec {
  std::string_view name, default_value;
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

 private:
  std::span<const OptionSpec> specs_;
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace shale
