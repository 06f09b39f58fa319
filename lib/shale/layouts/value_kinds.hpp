#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
  [[nodiscard]] std::string note_on_others(std::string_view path) const;
  void learn_bytes(std::string_view head, std::uint64_t bytes);

  std::uint64_t values_ = 0;
  // What all values may be that are none of the known kinds.
  std::optional<std::uint64_t> length_;  // of the first
  bool have_one_length_ = true;
  bool may_be_float32_ = true, may_be_float64_ = true, may_be_int64_ = true;
  std::size_t length_bytes_ = 0;  // that each begins with its own length in; 0: they do not
  std::map<std::string, std::uint64_t, std::less<>> kinds_;
  std::map<std::string, Suffix, std::less<>> suffixes_;
  bool have_suffixes_ = true;
};

}  // namespace shale::layouts
