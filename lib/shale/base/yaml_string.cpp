#include "shale/base/yaml_string.hpp"

#include <utility>

#include <fmt/format.h>

namespace shale {
namespace {

// Above U+009F.
constexpr std::pair<std::string_view, std::string_view> kEscaped[] = {
    {"\u2028", "\\u2028"},
    {"\u2029", "\\u2029"},
    {"\xEF\xBF\xBE", "\\ufffe"},
    {"\xEF\xBF\xBF", "\\uffff"},
};

}  // namespace

std::string yaml_string(std::string_view utf8) {
  std::string text = "\"";
  while (!utf8.empty()) {
    std::size_t length = 1;
    const auto first = static_cast<unsigned char>(utf8.front());
    // U+0080 to U+009F are two bytes, of which the second is their number.
    const auto second = static_cast<unsigned char>(utf8.size() > 1 ? utf8[1] : 0);
    const bool is_c1 = first == 0xC2 && second < 0xA0;
    std::string_view escape;
    for (const auto& [sequence, written] : kEscaped) {
      if (!utf8.starts_with(sequence)) continue;
      length = sequence.size();
      escape = written;
    }
    if (!escape.empty()) {
      text += escape;
    } else if (first < 0x20 || first == 0x7F || is_c1) {
      length = is_c1 ? 2 : 1;
      text += fmt::format("\\x{:02x}", is_c1 ? second : first);
    } else {
      if (first == '"' || first == '\\') text += '\\';
      text += utf8.front();
    }
    utf8.remove_prefix(length);
  }
  return text + '"';
}

}  // namespace shale
