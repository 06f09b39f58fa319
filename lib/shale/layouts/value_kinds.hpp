#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

// What the values of plain entries look like, and the command that makes more of them.

namespace shale::layouts {

/// Learns from the first values of a file.
class ValueKinds {
 public:
  static constexpr std::uint64_t kMost = 1'000;       ///< values that are looked at
  static constexpr std::uint64_t kHeadBytes = 4'096;  ///< of each
  /// `head`: up to kHeadBytes of the value.
  void add(std::string_view key, std::string_view head, std::uint64_t bytes);
  /// A sentence; empty: there is nothing to say. `file`: its path.
  [[nodiscard]] std::string note(std::string_view file) const;

 private:
  struct Suffix {
    std::uint64_t keys = 0;
    bool are_images = true, are_integers = true;
  };
  [[nodiscard]] std::string pattern() const;

  std::uint64_t values_ = 0;
  std::map<std::string, std::uint64_t, std::less<>> kinds_;
  std::map<std::string, Suffix, std::less<>> suffixes_;
  bool have_suffixes_ = true;
};

}  // namespace shale::layouts
