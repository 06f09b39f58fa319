#include "shale/format/name_list.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"

namespace shale {
namespace {

constexpr std::size_t kMostListedFiles = 65'536;
constexpr std::uint64_t kMostListBytes = 16 << 20;
constexpr std::uint64_t kListHeadBytes = 64 * 1024;  // longer than any path
constexpr std::string_view kWhitespace = " \t\n\v\f\r";

bool is_file_name(std::string_view word, std::span<const std::string_view> suffixes) {
  const bool is_text = std::none_of(word.begin(), word.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  return is_text && std::ranges::any_of(suffixes, [&](auto end) { return word.ends_with(end); });
}

// Takes the first word off; empty if there is none.
std::string_view next_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kWhitespace), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kWhitespace));
  text.remove_prefix(word.size());
  return word;
}

Error too_long(const InputFile& list, std::string_view what) {
  return Error(Code::limit, "lists more than {} {} files, or has more than {} bytes",
               kMostListedFiles, what, kMostListBytes)
      .at(list.path())
      .hint("divide the list, and convert the lists one after the other with --append");
}

}  // namespace

std::optional<std::vector<std::string>> names_in_list(const InputFile& list,
                                                      std::span<const std::string_view> suffixes,
                                                      std::string_view what) {
  if (!list.path().ends_with(".txt")) return std::nullopt;
  std::vector<std::byte> bytes(std::min(list.size(), kListHeadBytes));
  list.read_exact(0, bytes);
  std::string_view head = as_text(bytes);
  if (!is_file_name(next_word(head), suffixes)) return std::nullopt;
  if (list.size() > kMostListBytes) throw too_long(list, what);
  bytes.resize(list.size());
  list.read_exact(0, bytes);
  std::vector<std::string> names;
  std::string_view text = as_text(bytes);
  for (std::string_view word = next_word(text); !word.empty(); word = next_word(text)) {
    if (!is_file_name(word, suffixes)) return std::nullopt;
    if (names.size() == kMostListedFiles) throw too_long(list, what);
    names.emplace_back(word);
  }
  return names;
}

}  // namespace shale
