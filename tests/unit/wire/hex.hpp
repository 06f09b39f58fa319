#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "shale/base/bytes.hpp"

namespace shale::test {

/// Bytes as lower-case hex digits, as Python's bytes.hex() writes them.
inline std::string hex(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

/// The bytes of hex digits; blanks between them are skipped.
inline std::vector<std::byte> unhex(std::string_view digits) {
  std::vector<std::byte> bytes;
  unsigned high = 16;
  for (const char c : digits) {
    if (c == ' ') continue;
    const auto digit = static_cast<unsigned>(std::string_view("0123456789abcdef").find(c));
    if (high < 16) bytes.push_back(static_cast<std::byte>(high << 4 | digit));
    high = high < 16 ? 16 : digit;
  }
  return bytes;
}

}  // namespace shale::test
