#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"

namespace shale {

/// A str as Python's repr() writes it, in UTF-8. Beyond U+00FF, what Unicode has not assigned is
/// left as it is: which code points these are differs between versions of Python.
/// Errors: Code::bug if the text is not UTF-8.
/// Source: CPython 3.11, unicode_repr in Objects/unicodeobject.c.
[[nodiscard]] std::string python_repr(std::string_view utf8);

/// Which text a literal is part of: goes into the errors.
struct LiteralOrigin {
  std::string_view subject;                   ///< "npy header": how error texts begin
  std::optional<std::string_view> file = {};  ///< none: errors name no place
  std::uint64_t base = 0;                     ///< the offset of the text in the file
};

/// Reads a Python literal of strings, lengths and brackets as repr() writes it: the caller asks for
/// what must come next, so no text makes it recurse. White space between words is skipped. Text and
/// origin are borrowed.
/// Errors: Code::damaged, with file and offset, when the text continues differently.
class PythonScanner {
 public:
  enum class Encoding : std::uint8_t { latin1, utf8 };

  PythonScanner(std::string_view text, Encoding encoding, LiteralOrigin origin)
      : text_(text), origin_(origin), encoding_(encoding) {}

  [[nodiscard]] bool next_is(char c);
  [[nodiscard]] bool at_end();
  /// Takes the next word if it is `c`.
  bool accept(char c);
  void expect(char c);
  /// A string of either kind of quotes, as UTF-8.
  [[nodiscard]] std::string read_string();
  [[nodiscard]] bool read_bool();
  /// Digits that fit 63 bits, with or without Python 2's L.
  [[nodiscard]] std::uint64_t read_length();
  /// A tuple of lengths, at most `most` of them; nothing larger is kept.
  [[nodiscard]] std::vector<std::uint64_t> read_shape(std::size_t most);

  /// An error about the word that comes next.
  template <class... Args>
  [[nodiscard]] Error error(Code code, fmt::format_string<Args...> format, Args&&... args) const {
    return placed(Error(code, format, std::forward<Args>(args)...));
  }
  template <class... Args>
  [[nodiscard]] Error damaged(fmt::format_string<Args...> format, Args&&... args) const {
    return error(Code::damaged, format, std::forward<Args>(args)...);
  }
  /// The error, at the word that comes next unless it has a place.
  [[nodiscard]] Error placed(Error error) const;
  [[nodiscard]] std::string_view subject() const { return origin_.subject; }

 private:
  [[nodiscard]] char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  [[nodiscard]] std::string next_shown() const;
  void skip_space();
  char32_t read_escape();
  char32_t read_hex(std::size_t digits);

  std::string_view text_;
  LiteralOrigin origin_;
  Encoding encoding_;
  std::size_t position_ = 0;
};

}  // namespace shale
