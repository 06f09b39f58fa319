#include "shale/partners/pair_patterns.hpp"

#include <algorithm>

#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/data/schema.hpp"

namespace shale {
namespace {

Error bad_patterns(std::string_view text, std::string_view fact) {
  return Error(Code::usage, "--pairs '{}': {}", printable(text), fact)
      .hint(
          "pass a pattern for each field, that of the images first: "
          "--pairs 'image=*.jpg,mask=*_mask.png'");
}

}  // namespace

PairPatterns::PairPatterns(std::string_view text) {
  for (const TypedWord& word : typed_words(text)) {
    const std::size_t equals = word.name.find('='), star = word.name.find('*');
    if (equals == std::string::npos) continue;
    if (star == std::string::npos || star < equals)
      throw Error(Code::damaged, "'{}' is not a pattern of --pairs", printable(word.name));
    all_.push_back({.field = word.name.substr(0, equals),
                    .before = word.name.substr(equals + 1, star - equals - 1),
                    .after = word.name.substr(star + 1)});
    have_folders_ = have_folders_ || word.name.find('/') != std::string::npos;
  }
}

std::optional<std::size_t> PairPatterns::which(std::string_view folder,
                                               std::string_view name) const {
  const std::string path = have_folders_ ? join_path(folder, name) : std::string(name);
  std::optional<std::size_t> found;
  std::size_t most = 0;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const std::size_t text = all_[i].before.size() + all_[i].after.size();
    const bool fits =
        path.size() > text && path.starts_with(all_[i].before) && path.ends_with(all_[i].after);
    if (!fits || (found && text <= most)) continue;
    found = i;
    most = text;
  }
  return found;
}

std::string PairPatterns::star_of(std::size_t pattern, std::string_view folder,
                                  std::string_view name) const {
  const PairPattern& one = all_[pattern];
  std::string star = have_folders_ ? join_path(folder, name) : std::string(name);
  star = star.substr(one.before.size(), star.size() - one.before.size() - one.after.size());
  return have_folders_ ? star : join_path(folder, star);
}

std::string PairPatterns::partner_of(std::size_t pattern, std::string_view path) const {
  const std::size_t slash = path.rfind('/');
  const std::string_view folder = slash == std::string_view::npos ? "" : path.substr(0, slash);
  const std::string_view name = path.substr(slash + 1);
  const std::string star = star_of(0, folder, name);
  const PairPattern& one = all_[pattern];
  if (have_folders_) return one.before + star + one.after;
  return join_path(folder,
                   one.before + star.substr(folder.empty() ? 0 : folder.size() + 1) + one.after);
}

std::string PairPatterns::sample_word() const {
  if (all_.empty()) return {};
  return fmt::format("{}={}*{},", all_[0].field, all_[0].before, all_[0].after);
}

std::string PairPatterns::note_on_incomplete(std::uint64_t samples) const {
  return fmt::format("{} without a partner by the patterns of --pairs",
                     format_counted(samples, "sample is", "samples are"));
}

std::string pairs_option(std::string_view text) {
  for (const char* const what : {":", "|", "?"}) {
    if (text.find(what) != std::string_view::npos)
      throw bad_patterns(text, fmt::format("'{}' in it", what));
  }
  std::vector<TypedWord> words = typed_words(text);
  std::vector<std::string> names;
  std::size_t with_folders = 0;
  for (const TypedWord& word : words) {
    const std::size_t equals = word.name.find('=');
    const std::string name = word.name.substr(0, equals);
    const std::string pattern = equals == std::string::npos ? "" : word.name.substr(equals + 1);
    if (std::ranges::count(pattern, '*') != 1)
      throw bad_patterns(text, "each pattern has one star");
    if (name.empty() || is_reserved_name(name) || name == "label")
      throw bad_patterns(text, fmt::format("'{}' cannot be the name of a field", printable(name)));
    if (std::ranges::find(names, name) != names.end())
      throw bad_patterns(text, fmt::format("field '{}' is there twice", printable(name)));
    validate_schema({.fields = {{.name = name, .kind = Kind::bytes}}});
    names.push_back(name);
    with_folders += pattern.find('/') != std::string::npos ? 1 : 0;
  }
  if (names.size() < 2) throw bad_patterns(text, "there is one pattern alone");
  if (with_folders != 0 && with_folders != names.size())
    throw bad_patterns(text, "either all patterns have folders, or none");
  return std::string(text);
}

}  // namespace shale
