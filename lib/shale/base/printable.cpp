#include "shale/base/printable.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

namespace shale {
namespace {

// The length of the well-formed UTF-8 sequence at the front, 0 if there is none (Unicode 15, table
// 3-7).
std::size_t utf8_length(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::uint8_t lead = at(0);
  if (lead < 0x80) return 1;
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return 0;
  const std::uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const std::uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (at(1) < low || at(1) > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((at(i) & 0xC0U) != 0x80) return 0;
  }
  return length;
}

// What turns the order of the text around it, or begins a line: UAX #9, table 4, and U+2028,
// U+2029.
bool is_layout_control(std::string_view sequence) {
  constexpr std::string_view kControls[] = {"\u061C", "\u200E", "\u200F", "\u2028", "\u2029",
                                            "\u202A", "\u202B", "\u202C", "\u202D", "\u202E",
                                            "\u2066", "\u2067", "\u2068", "\u2069"};
  return std::find(std::begin(kControls), std::end(kControls), sequence) != std::end(kControls);
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    // Most text is ASCII, and every text field of every sample comes through here: eight bytes at a
    // time.
    for (std::uint64_t eight = 0; bytes.size() >= sizeof(eight);
         bytes.remove_prefix(sizeof(eight))) {
      std::memcpy(&eight, bytes.data(), sizeof(eight));
      if ((eight & 0x8080808080808080U) != 0) break;
    }
    if (bytes.empty()) break;
    const std::size_t length = utf8_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

void append_utf8(std::string& text, char32_t point) {
  const auto put = [&](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto tail = [&](unsigned shift) { put(0x80U | (point >> shift & 0x3fU)); };
  if (point < 0x80) return put(point);
  if (point < 0x800) return put(0xc0U | point >> 6), tail(0);
  if (point < 0x10000) return put(0xe0U | point >> 12), tail(6), tail(0);
  put(0xf0U | point >> 18), tail(12), tail(6), tail(0);
}

std::string printable(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    const auto lead = static_cast<std::uint8_t>(bytes[0]);
    // U+0080..U+009F are control characters too, and some terminals obey them.
    const bool is_c1_control =
        length == 2 && lead == 0xC2 && static_cast<std::uint8_t>(bytes[1]) < 0xA0;
    const bool is_control =
        is_c1_control || (length > 1 && is_layout_control(bytes.substr(0, length)));
    if (lead == '\\') {
      text += "\\\\";
    } else if (lead == '\n') {
      text += "\\n";
    } else if (lead == '\t') {
      text += "\\t";
    } else if (length == 0 || lead < 0x20 || lead == 0x7F) {
      text += fmt::format("\\x{:02x}", lead);
    } else if (is_control) {
      for (const char byte : bytes.substr(0, length))
        text += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(byte));
    } else {
      text += bytes.substr(0, length);
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\\') {
      bytes += text[at];
      continue;
    }
    const char kind = ++at < text.size() ? text[at] : '\0';
    if (kind == '\\') {
      bytes += '\\';
    } else if (kind == 'n') {
      bytes += '\n';
    } else if (kind == 't') {
      bytes += '\t';
    } else {
      const std::string_view digits = text.substr(std::min(at + 1, text.size()), 2);
      std::uint8_t byte = 0;
      const auto [end, error] =
          std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
      const bool is_byte = kind == 'x' && digits.size() == 2 && error == std::errc() &&
                           end == digits.data() + digits.size();
      if (!is_byte) return std::nullopt;
      bytes += static_cast<char>(byte);
      at += digits.size();
    }
  }
  return bytes;
}

}  // namespace shale
