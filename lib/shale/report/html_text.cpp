#include "shale/report/html_text.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "shale/base/printable.hpp"

namespace shale {
namespace {

// What XML does not know, and what is shown instead.
constexpr std::string_view kEscapes[][2] = {{"&", "&amp;"},
                                            {"<", "&lt;"},
                                            {">", "&gt;"},
                                            {"\"", "&quot;"},
                                            {"'", "&#39;"},
                                            {"\uFFFE", "\\xef\\xbf\\xbe"},
                                            {"\uFFFF", "\\xef\\xbf\\xbf"}};

// Characters in `kept` stay what they are.
std::string escaped(std::string_view bytes, std::string_view kept) {
  std::string text;
  text.reserve(bytes.size() + bytes.size() / 8);
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find_first_of(kept), bytes.size());
    const std::string shown = printable(bytes.substr(0, end));
    for (std::string_view rest = shown; !rest.empty();) {
      const auto* escape =
          std::ranges::find_if(kEscapes, [&](const auto& one) { return rest.starts_with(one[0]); });
      const bool is_plain = escape == std::end(kEscapes);
      text += is_plain ? rest.substr(0, 1) : (*escape)[1];
      rest.remove_prefix(is_plain ? 1 : (*escape)[0].size());
    }
    if (end == bytes.size()) break;
    text += bytes[end];
    bytes.remove_prefix(end + 1);
  }
  return text;
}

}  // namespace

std::string html_words(std::string_view text) { return escaped(text, "\\"); }

std::string html_lines(std::string_view text) { return escaped(text, "\\\n"); }

std::string_view front_of_name(std::string_view bytes, std::size_t limit) {
  constexpr std::size_t kMostContinuations = 3;
  std::size_t characters = 0;
  std::size_t continuations = kMostContinuations;  // none can be at the front
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const bool is_continuation = (static_cast<std::uint8_t>(bytes[at]) & 0xC0U) == 0x80;
    if (is_continuation && continuations < kMostContinuations) {
      ++continuations;
      continue;
    }
    continuations = is_continuation ? kMostContinuations : 0;
    if (++characters > limit) return bytes.substr(0, at);
  }
  return bytes;
}

std::string data_uri(std::string_view media_type, std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string uri = "data:";
  uri += media_type;
  uri += ";base64,";
  uri.reserve(uri.size() + (bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t left = bytes.size() - at;
    std::uint32_t three = 0;
    for (std::size_t i = 0; i < 3; ++i)
      three = three << 8U | (i < left ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      uri += i <= left ? kDigits[three >> (18 - 6 * i) & 63U] : '=';
  }
  return uri;
}

}  // namespace shale
