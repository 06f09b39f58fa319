#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// The bytes of a text file as UTF-8, piece by piece: without a byte order mark, and decoded if
/// that says UTF-16, as Excel's "Unicode text" and PowerShell write it.
class TextDecoder {
 public:
  /// By the first bytes of the file. Errors: same as InputFile.
  explicit TextDecoder(const InputFile& file);

  [[nodiscard]] bool is_utf16() const { return form_ != Form::utf8; }
  /// Where the text begins: behind the mark.
  [[nodiscard]] std::uint64_t begin() const { return begin_; }
  /// The next bytes of it, decoded; valid until the next call, and as long as `bytes`. Errors:
  /// Code::bad_content for half a character.
  [[nodiscard]] std::string_view decode(std::string_view bytes);
  /// Errors: Code::bad_content if it ends within a character.
  void finish() const;

 private:
  enum class Form : std::uint8_t { utf8, little_endian, big_endian };

  [[nodiscard]] Error not_utf16() const;
  void add_unit(std::uint32_t unit);

  std::string path_;
  Form form_ = Form::utf8;
  std::uint64_t begin_ = 0;
  std::string text_, left_;      // left_: half a unit
  std::uint32_t surrogate_ = 0;  // the first half of a character; 0: none
};

}  // namespace shale
