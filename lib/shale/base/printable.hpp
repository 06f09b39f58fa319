#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace shale {

/// True if the bytes are well-formed UTF-8 (no surrogates, nothing overlong, nothing above
/// U+10FFFF).
[[nodiscard]] bool is_utf8(std::string_view bytes);

/// Appends the UTF-8 of a code point, half of a surrogate pair too: that is not well-formed.
void append_utf8(std::string& text, char32_t point);

/// Raw bytes as a person may see them on a terminal: valid UTF-8 stays, control characters
/// (those that turn the order of text around, too), the backslash and invalid bytes become \n, \t,
/// \\ or \xNN. No input can move the cursor or forge a second line.
[[nodiscard]] std::string printable(std::string_view bytes);

/// The bytes that printable() made this text of; nullopt where it makes no such text: a backslash
/// has something else behind it.
[[nodiscard]] std::optional<std::string> unescaped(std::string_view text);

}  // namespace shale
