#include "shale/report/html_text.hpp"

#include <cstdint>

#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::string_view kNotInXml[] = {"\uFFFE", "\uFFFF"};
constexpr std::string_view kShownInstead[] = {"\\xef\\xbf\\xbe", "\\xef\\xbf\\xbf"};

std::string_view escape_of(char character) {
  switch (character) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

// The separators as they are, what stands between them as `shown` has it.
template <class Shown>
std::string between(std::string_view text, char separator, Shown shown) {
  std::string joined;
  while (true) {
    const std::size_t end = text.find(separator);
    joined += shown(text.substr(0, end));
    if (end == std::string_view::npos) return joined;
    joined += separator;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string html_text(std::string_view bytes) {
  const std::string shown = printable(bytes);
  std::string_view rest = shown;
  std::string text;
  text.reserve(shown.size() + shown.size() / 8);
  while (!rest.empty()) {
    std::size_t taken = 1;
    if (const std::string_view escape = escape_of(rest.front()); !escape.empty()) {
      text += escape;
    } else if (rest.starts_with(kNotInXml[0]) || rest.starts_with(kNotInXml[1])) {
      text += kShownInstead[rest.starts_with(kNotInXml[0]) ? 0 : 1];
      taken = kNotInXml[0].size();
    } else {
      text += rest.front();
    }
    rest.remove_prefix(taken);
  }
  return text;
}

std::string html_words(std::string_view text) { return between(text, '\\', html_text); }

std::string html_lines(std::string_view text) { return between(text, '\n', html_words); }

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
