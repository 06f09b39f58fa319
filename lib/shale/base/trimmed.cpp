#include "shale/base/trimmed.hpp"

#include <algorithm>

namespace shale {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n\v\f", kNoBreakSpace = "\xC2\xA0";
  const auto is_visible = [](char byte) { return byte > ' ' && byte <= '~'; };  // of ASCII
  if (!text.empty() && is_visible(text.front()) && is_visible(text.back())) return text;
  for (;;) {
    const std::size_t before = text.size();
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    text.remove_suffix(text.size() - (text.find_last_not_of(kBlanks) + 1));
    if (text.starts_with(kNoBreakSpace)) text.remove_prefix(kNoBreakSpace.size());
    if (text.ends_with(kNoBreakSpace)) text.remove_suffix(kNoBreakSpace.size());
    if (text.size() == before) return text;
  }
}

}  // namespace shale
