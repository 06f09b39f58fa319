#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace shale {

/// The word that was probably meant by `word`: the only one that it is the beginning of (three
/// letters or more), or the one that the fewest typing errors separate from it (a letter missing,
/// added, wrong, or two swapped): up to one in four letters, at least one. Nullopt if none is that
/// near, or if the word is one of them. Of equally near ones, the first.
[[nodiscard]] std::optional<std::string_view> nearest_word(std::string_view word,
                                                           std::span<const std::string> words);

/// "did you mean 'cat'?", or an empty string where nearest_word has none. `prefix` goes before the
/// word: "--".
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> words,
                                       std::string_view prefix = "");

/// The word, which must be one of these; `what` is what it was given as: "--io". Errors:
/// Code::usage listing them.
[[nodiscard]] std::string checked_word(const std::string& word, std::span<const std::string> words,
                                       std::string_view what);

}  // namespace shale
