#include "shale/base/nearest_word.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::size_t kShortestPrefix = 3;
constexpr std::size_t kLongest = 64;  // longer words were not typed

// Damerau-Levenshtein distance, where no piece is edited twice ("optimal string alignment").
std::size_t typing_errors(std::string_view left, std::string_view right) {
  std::vector<std::size_t> before_last, last(right.size() + 1), row(right.size() + 1);
  for (std::size_t j = 0; j <= right.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= left.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= right.size(); ++j) {
      const std::size_t other = left[i - 1] == right[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + other});
      const bool is_swap =
          i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
      if (is_swap) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last.back();
}

}  // namespace

std::optional<std::string_view> nearest_word(std::string_view word,
                                             std::span<const std::string> words) {
  if (word.empty() || word.size() > kLongest) return std::nullopt;
  const auto is_begun = [&](const std::string& known) { return known.starts_with(word); };
  if (std::find(words.begin(), words.end(), word) != words.end()) return std::nullopt;
  if (word.size() >= kShortestPrefix && std::count_if(words.begin(), words.end(), is_begun) == 1)
    return *std::find_if(words.begin(), words.end(), is_begun);
  std::optional<std::string_view> nearest;
  std::size_t fewest = std::max<std::size_t>(1, word.size() / 4) + 1;
  for (const std::string& known : words) {
    // Of one letter, every other letter is one error away.
    if (known.size() < 2 || known.size() > kLongest) continue;
    const std::size_t errors = typing_errors(word, known);
    if (errors >= fewest) continue;
    fewest = errors;
    nearest = known;
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> words,
                         std::string_view prefix) {
  const std::optional<std::string_view> nearest = nearest_word(word, words);
  return nearest ? fmt::format("did you mean '{}{}'?", prefix, printable(*nearest)) : "";
}

std::string checked_word(const std::string& word, std::span<const std::string> words,
                         std::string_view what) {
  if (std::find(words.begin(), words.end(), word) != words.end()) return word;
  throw Error(Code::usage, "{} '{}' is not {}{}", what, printable(word),
              words.size() > 1 ? "one of " : "", fmt::join(words, ", "))
      .hint(did_you_mean(word, words));
}

}  // namespace shale
