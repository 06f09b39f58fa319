#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// The lines of a text file that are not blank, without what ends them, and without a byte order
/// mark. Memory: one line. One thread.
class TextLines {
 public:
  /// `wanted` says what a line holds, for the hint where one is too long. Errors: same as
  /// InputFile.
  TextLines(const std::string& path, std::string_view wanted);

  [[nodiscard]] const std::string& path() const { return file_.path(); }
  /// From line 1 on, until `use` returns false. Errors: Code::bad_content for a line of more than
  /// 1 MiB; Code::io.
  void for_each(const std::function<bool(std::uint64_t line, std::string_view text)>& use) const;
  /// Empty if there is none. Errors: same as for_each.
  [[nodiscard]] std::string text_of(std::uint64_t line) const;

 private:
  InputFile file_;
  std::string wanted_;
};

/// Lines of a list of samples that cannot be used; each caller adds its hint.
/// `unknown`: how many keys of the list no sample has.
[[nodiscard]] Error unknown_key(const std::string& list, std::uint64_t line, std::string_view key,
                                std::uint64_t unknown);
[[nodiscard]] Error listed_twice(const std::string& list, std::string_view what,
                                 std::string_view where);

}  // namespace shale
