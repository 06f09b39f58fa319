#include "shale/labels/label_pattern.hpp"

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::string_view kLabelPlace = "{label}", kAnything = "{*}";
// Engines that go back to try another way take memory for each character.
constexpr std::size_t kLongestPath = 1024;

Error bad_pattern_of_labels(const std::string& text, std::string_view fact) {
  return Error(Code::usage, "--label-from '{}' {}", printable(text), fact)
      .hint(
          "write {label} where the class is, and {*} for anything else, as in '{label}_{*}.jpg', "
          "or "
          "a regular expression with a group of that name: '(?P<label>[a-z]+)'");
}

// An expression with a named group, which ECMAScript lacks: the same with a plain group, and its
// number.
struct NamedGroup {
  std::string expression;
  std::size_t number = 0;  // 0: there is none
};

NamedGroup with_plain_group(std::string_view text) {
  NamedGroup made;
  std::size_t groups = 0;
  bool is_in_set = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view rest = text.substr(i);
    if (text[i] == '\\' && i + 1 < text.size()) {
      made.expression += text[i++];
    } else if (is_in_set) {
      is_in_set = text[i] != ']';
    } else if (text[i] == '[') {
      is_in_set = true;
    } else if (text[i] == '(') {
      const bool is_named = rest.starts_with("(?P<label>") || rest.starts_with("(?<label>");
      if (is_named || !rest.starts_with("(?")) ++groups;
      if (is_named) {
        made.number = groups;
        made.expression += '(';
        i += rest.find('>');
        continue;
      }
    }
    made.expression += text[i];
  }
  return made;
}

std::string expression_of(const std::string& text) {
  std::string expression;
  std::size_t labels = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = std::string_view(text).substr(i);
    if (rest.starts_with(kLabelPlace)) {
      ++labels;
      expression += "([^/]+)";
      i += kLabelPlace.size();
    } else if (rest.starts_with(kAnything)) {
      expression += "[^/]*";
      i += kAnything.size();
    } else {
      if (std::string_view(R"(\^$.|?*+()[]{})").find(text[i]) != std::string_view::npos)
        expression += '\\';
      expression += text[i++];
    }
  }
  if (labels == 1) return expression;
  throw bad_pattern_of_labels(
      text, labels == 0 ? "does not say where the label is" : "has more than one {label}");
}

}  // namespace

LabelPattern::LabelPattern(const std::string& text) {
  const NamedGroup named = with_plain_group(text);
  is_searched_ = named.number > 0;
  is_of_path_ = is_searched_ || text.find('/') != std::string::npos;
  if (is_searched_) group_ = named.number;
  const std::string expression = is_searched_ ? named.expression : expression_of(text);
  try {
    expression_.assign(expression, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error&) {
    throw bad_pattern_of_labels(text, "is not a regular expression");
  }
}

std::optional<std::string> LabelPattern::label_in(std::string_view path) const {
  if (!is_of_path_) path.remove_prefix(path.rfind('/') + 1);  // npos + 1 is 0
  if (path.size() > kLongestPath) return std::nullopt;
  std::cmatch found;
  const char* const begin = path.data();
  const bool fits = is_searched_ ? std::regex_search(begin, begin + path.size(), found, expression_)
                                 : std::regex_match(begin, begin + path.size(), found, expression_);
  if (!fits || found[group_].length() == 0) return std::nullopt;
  return found[group_].str();
}

}  // namespace shale
