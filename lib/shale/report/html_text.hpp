#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace shale {

/// Text of an HTML or XML document, and of its attributes: `printable` first (but a backslash stays
/// one), so that control characters, what turns the order of text around and invalid UTF-8 are
/// shown and never obeyed; then the five characters of markup, and U+FFFE and U+FFFF, which XML
/// does not know. Whatever comes in, the result has no `<`, `>`, `"`, `'` and no `&` but those of
/// its escapes.
[[nodiscard]] std::string html_words(std::string_view text);

/// Code, or other text of several lines: as html_words, and \n stays a newline.
[[nodiscard]] std::string html_lines(std::string_view text);

/// A name that is too long for a line: at most `limit` characters of its front, and an ellipsis.
/// Cuts between characters; bytes that are not UTF-8 count as one character each.
[[nodiscard]] std::string_view front_of_name(std::string_view bytes, std::size_t limit);

/// "data:image/png;base64,...": a file within the page.
[[nodiscard]] std::string data_uri(std::string_view media_type, std::span<const std::byte> bytes);

}  // namespace shale
