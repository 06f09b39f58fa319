#include "shale/labels/split_names.hpp"

#include <algorithm>
#include <optional>

namespace shale {
namespace {

struct Spelling {
  std::string_view word, split;
};
constexpr Spelling kSpellings[] = {
    {"train", "train"},          {"training", "train"}, {"test", "test"},
    {"testing", "test"},         {"val", "val"},        {"valid", "valid"},
    {"validation", "validation"}};

// "Seg_Train2017" is train, and "seg" besides.
struct NameOfSplit {
  std::string split, besides;
};

std::optional<NameOfSplit> parse(std::string_view name) {
  NameOfSplit found;
  std::string word;
  const auto end_word = [&] {
    const auto same = std::ranges::find(kSpellings, word, &Spelling::word);
    if (same != std::end(kSpellings) && found.split.empty())
      found.split = same->split;
    else if (!word.empty())
      found.besides += word + ' ';
    word.clear();
  };
  for (const char c : name) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (std::string_view("_- .").find(c) != std::string_view::npos)
      end_word();
    else if (lower < '0' || lower > '9')
      word += lower;
  }
  end_word();
  return found.split.empty() ? std::nullopt : std::optional(std::move(found));
}

}  // namespace

std::string split_of_folder(std::string_view name) {
  const std::optional<NameOfSplit> found = parse(name);
  return found ? found->split : std::string();
}

std::map<std::string, std::string> spelled_splits(const std::vector<std::string>& folders) {
  std::map<std::string, std::string> splits;
  std::string besides;
  for (const std::string& folder : folders) {
    const std::optional<NameOfSplit> found = parse(folder);
    if (!found || !splits.emplace(found->split, folder).second) return {};
    if (splits.size() > 1 && found->besides != besides) return {};
    besides = found->besides;
  }
  return splits.size() > 1 ? splits : std::map<std::string, std::string>();
}

}  // namespace shale
