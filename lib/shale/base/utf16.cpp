#include "shale/base/utf16.hpp"

#include <cstddef>
#include <cstdint>

#include "shale/base/printable.hpp"

namespace shale {

std::string utf8_of_utf16(Bytes units) {
  constexpr char32_t kReplacement = 0xfffd;
  const std::size_t count = units.size() / 2;
  const auto unit = [&](std::size_t i) {
    return static_cast<char32_t>(std::to_integer<std::uint32_t>(units[2 * i]) |
                                 std::to_integer<std::uint32_t>(units[2 * i + 1]) << 8);
  };
  const auto is_in = [](char32_t code, char32_t begin) {
    return code >= begin && code < begin + 0x400;
  };
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    char32_t code = unit(i);
    if (is_in(code, 0xd800) && i + 1 < count && is_in(unit(i + 1), 0xdc00))
      code = 0x10000 + ((code - 0xd800) << 10) + (unit(++i) - 0xdc00);
    append_utf8(text, is_in(code, 0xd800) || is_in(code, 0xdc00) ? kReplacement : code);
  }
  return text;
}

}  // namespace shale
