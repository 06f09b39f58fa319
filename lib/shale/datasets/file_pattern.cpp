#include "shale/datasets/file_pattern.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <glob.h>

#include "shale/base/error.hpp"
#include "shale/base/natural_order.hpp"
#include "shale/base/printable.hpp"
#include "shale/datasets/file_format.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

bool ends_with_any(std::string_view name, std::span<const std::string_view> suffixes) {
  return std::ranges::any_of(suffixes, [&](auto suffix) { return name.ends_with(suffix); });
}

bool has_wildcards(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && !text.empty()
             ? std::optional(number)
             : std::nullopt;
}

constexpr std::uint64_t kMostFiles = 10'000'000;

Error too_many_files() {
  return Error(Code::limit, "the braces of the pattern stand for more than {} files", kMostFiles);
}

// What stands between two braces: "a,b", or "00..07" with its zeros; empty: it is none of these.
std::vector<std::string> alternatives(std::string_view inside) {
  std::vector<std::string> all;
  if (const std::size_t dots = inside.find(".."); dots != std::string_view::npos) {
    const auto first = number_of(inside.substr(0, dots)), last = number_of(inside.substr(dots + 2));
    if (first && last) {
      if (*last - *first >= kMostFiles && *last >= *first) throw too_many_files();
      for (std::uint64_t number = *first; number <= *last; ++number)
        all.push_back(fmt::format("{:0{}}", number, dots));
      return all;
    }
  }
  if (inside.find(',') == std::string_view::npos) return {};
  for (std::size_t begin = 0; begin <= inside.size();) {
    const std::size_t comma = std::min(inside.find(',', begin), inside.size());
    all.emplace_back(inside.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return all;
}

// The names that the braces of a pattern stand for, as the shell orders them.
void expand_braces(const std::string& pattern, std::size_t from, std::vector<std::string>& names) {
  const std::size_t open = pattern.find('{', from), close = pattern.find('}', open);
  if (close == std::string::npos) {
    names.push_back(pattern);
    if (names.size() > kMostFiles) throw too_many_files();
    return;
  }
  const std::string_view text = pattern;
  const std::vector<std::string> all = alternatives(text.substr(open + 1, close - open - 1));
  if (all.empty()) return expand_braces(pattern, open + 1, names);
  for (const std::string& one : all) {
    const std::string done = std::string(text.substr(0, open)) + one;
    expand_braces(done + std::string(text.substr(close + 1)), done.size(), names);
  }
}

void match_wildcards(const std::string& pattern, std::vector<SetMember>& files) {
  struct Matches : glob_t {
    Matches() : glob_t() {}
    ~Matches() { ::globfree(this); }
    Matches(const Matches&) = delete;
    Matches& operator=(const Matches&) = delete;
  } found;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) != 0) return;
  const std::size_t begin = files.size();
  for (std::size_t i = 0; i < found.gl_pathc; ++i) {
    const std::string path = found.gl_pathv[i];
    const std::optional<std::string> file = file_of_path(path);
    if (file && !is_about_a_file(std::filesystem::path(path).filename().string()))
      files.push_back({path, *file});
  }
  std::ranges::sort(files.begin() + static_cast<std::ptrdiff_t>(begin), files.end(),
                    is_naturally_less, &SetMember::name);
}

}  // namespace

bool is_about_a_file(std::string_view name) {
  return ends_with_any(name, kListSuffixes) || name == "lock.mdb" || name.ends_with("-lock") ||
         name.ends_with("." + std::string(kManifestName));
}

std::optional<std::vector<SetMember>> files_of_pattern(const std::string& pattern) {
  const bool has_braces = pattern.find('{') != std::string::npos;
  if (!has_braces && !has_wildcards(pattern)) return std::nullopt;
  std::vector<std::string> names;
  expand_braces(pattern, 0, names);
  std::vector<SetMember> files;
  for (const std::string& name : names) {
    if (has_wildcards(name) && !stands(name)) {
      match_wildcards(name, files);
      continue;
    }
    std::optional<std::string> file = file_of_path(name);
    if (!file && names.size() == 1) return std::nullopt;  // braces that are part of a name
    if (!file) {
      throw Error(Code::not_found, "is named by the pattern '{}', but does not exist",
                  printable(pattern))
          .at(name);
    }
    files.push_back({name, *std::move(file)});
  }
  if (files.empty()) return std::nullopt;
  return files;
}

std::string word_of_files(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return paths.front();
  std::string word;
  for (const std::string& path : paths) {
    if (path.find_first_of(",{}") != std::string::npos) {
      throw Error(Code::usage, "has a comma or a brace in its name, and is one of several files")
          .at(path)
          .hint(
              "put the names into a text file, one per line, and pass @ and its name: @files.txt");
    }
    word += (word.empty() ? "{" : ",") + path;
  }
  return word + "}";
}

}  // namespace shale
