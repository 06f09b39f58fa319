#include "shale/annotations/yolo_names.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/path_text.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/io/input_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/csv.hpp"

// data.yaml as Ultralytics and Roboflow write it, one of:
//   names: [cat, 'small dog']
//   names:                 names:
//   - cat                    0: cat
//   - small dog              1: small dog

namespace shale {
namespace {

constexpr std::uint64_t kMostBytes = 1 << 20;
constexpr std::array<std::string_view, 5> kFiles = {"classes.txt", "predefined_classes.txt",
                                                    "obj.names", "_darknet.labels", "data.yaml"};

std::string_view next_line(std::string_view& left) {
  const std::string_view line = left.substr(0, left.find('\n'));
  left.remove_prefix(std::min(line.size() + 1, left.size()));
  return line;
}

std::vector<std::string> names_in_text(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) names.emplace_back(trimmed(next_line(text)));
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

class YamlNames {
 public:
  YamlNames(const std::string& path, std::string_view text) : path_(path), left_(text) {}

  std::vector<std::string> read() {
    constexpr std::string_view kMember = "names:";
    while (!left_.empty()) {
      const std::string_view line = next_line(left_);
      if (!line.starts_with(kMember)) continue;
      const std::string_view rest = without_comment(line.substr(kMember.size()));
      if (rest.empty()) return lines();
      if (!rest.starts_with('[')) throw odd(rest);
      return list(std::string(rest.substr(1)));
    }
    throw Error(Code::bad_content, "has no 'names'").at(path_).hint(hint());
  }

 private:
  static std::string hint() {
    return "write a name in each line of classes.txt, beside the text files";
  }
  [[nodiscard]] Error odd(std::string_view line) const {
    return Error(Code::bad_content, "names classes in a way that is not read: {}", printable(line))
        .at(path_)
        .hint(hint());
  }
  // Also of a line that is nothing else. In quotes there is no comment.
  static std::string_view without_comment(std::string_view line) {
    line = trimmed(line);
    if (line.starts_with('#')) return {};
    const std::size_t quote = line.find_first_of("\"'");
    const bool is_quoted =
        quote != std::string_view::npos && (quote == 0 || line[quote - 1] == ' ');
    const std::size_t close = is_quoted ? line.find(line[quote], quote + 1) : 0;
    return trimmed(line.substr(0, line.find(" #", close == std::string_view::npos ? 0 : close)));
  }
  // Escapes in quotes (\xE9, '') are not read.
  [[nodiscard]] std::string without_quotes(std::string_view name) const {
    name = trimmed(name);
    if (!name.starts_with('"') && !name.starts_with('\'')) return std::string(name);
    const std::string_view inside = name.substr(1, name.size() - 2);
    const bool is_whole = name.size() > 1 && name.back() == name[0] &&
                          inside.find(name[0]) == std::string_view::npos &&
                          (name[0] == '\'' || inside.find('\\') == std::string_view::npos);
    if (!is_whole) throw odd(name);
    return std::string(inside);
  }

  std::vector<std::string> list(std::string text) {
    while (text.find(']') == std::string::npos && !left_.empty())
      text.append(1, ' ').append(without_comment(next_line(left_)));
    std::vector<std::string> names;
    std::string_view inside = text;
    for (inside = trimmed(inside); !inside.starts_with(']');) {
      const bool is_quoted = inside.starts_with('"') || inside.starts_with('\'');
      const std::size_t close = is_quoted ? inside.find(inside[0], 1) : 0;
      const std::size_t end =
          close == std::string_view::npos ? close : inside.find_first_of(",]", close);
      if (end == std::string_view::npos) throw odd(text);
      names.push_back(without_quotes(inside.substr(0, end)));
      inside.remove_prefix(end + (inside[end] == ',' ? 1 : 0));
      inside = trimmed(inside);
    }
    return names;
  }

  // One below the other, until something else is in the first column.
  std::vector<std::string> lines() {
    std::vector<std::string> names;
    while (!left_.empty()) {
      const std::string_view whole = next_line(left_);
      const std::string_view line = without_comment(whole);
      if (line.empty()) continue;
      const std::string number = fmt::format("{}:", names.size());
      const bool is_numbered = whole.starts_with(' ') && line.starts_with(number);
      if (!is_numbered && !line.starts_with("- ")) {
        if (whole.starts_with(' ')) throw odd(line);
        break;
      }
      names.push_back(without_quotes(line.substr(is_numbered ? number.size() : 2)));
    }
    return names;
  }

  const std::string& path_;
  std::string_view left_;
};

}  // namespace

bool is_list_of_names(std::string_view name) { return name == kFiles[0] || name == kFiles[1]; }

std::optional<YoloNames> find_yolo_names(const std::string& folder) {
  std::error_code error;
  std::filesystem::path place = std::filesystem::absolute(folder, error).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();
  std::string shown = folder;
  for (int level = 0; level < 3; ++level) {
    for (const std::string_view name : kFiles) {
      const std::string path = join_path(shown, name);
      if (!facts_behind(path)) continue;
      const std::vector<std::byte> bytes = read_file(path, kMostBytes);
      const std::string_view text = without_byte_order_mark(as_text(bytes));
      const bool is_yaml = name == kFiles.back();
      YoloNames found{path, is_yaml ? YamlNames(path, text).read() : names_in_text(text)};
      if (!found.names.empty() && std::ranges::count(found.names, "") == 0) return found;
      throw Error(Code::bad_content, "has no name for class {}",
                  std::ranges::find(found.names, "") - found.names.begin())
          .at(path)
          .hint("write a name in each line");
    }
    if (!place.has_relative_path()) break;
    place = place.parent_path();
    shown = place.string();
  }
  return std::nullopt;
}

}  // namespace shale
