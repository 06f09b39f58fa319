#include "shale/base/shell_word.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "shale/base/printable.hpp"

namespace shale {

std::string shell_word(std::string_view path) {
  const auto is_plain = [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') ||
           std::string_view("/._-+=:,@").find(byte) != std::string_view::npos;
  };
  if (!path.empty() && std::ranges::all_of(path, is_plain) && path[0] != '-')
    return std::string(path);
  const bool is_text = is_utf8(path) && printable(path).size() == path.size();
  std::string text = is_text ? "'" : "$'";
  for (const char byte : path) {
    if (is_text)
      text += byte == '\'' ? std::string("'\\''") : std::string(1, byte);
    else if (byte >= ' ' && byte <= '~' && byte != '\'' && byte != '\\')
      text += byte;
    else
      text += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
  }
  return text + "'";
}

}  // namespace shale
