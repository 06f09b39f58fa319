#include "shale/labels/label_pattern.hpp"

#include <cstdint>
#include <iterator>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"

namespace shale {
namespace {

constexpr std::string_view kLabelPlace = "{label}", kAnything = "{*}";
// Engines that go back to try another way take memory for each character.
constexpr std::size_t kLongestPath = 1024;
// For one path: half a second. An expression that goes over the longest path from each of its
// characters takes 4 million.
constexpr std::uint64_t kMostSteps = 10'000'000;

Error bad_pattern_of_labels(const std::string& text, std::string_view fact) {
  return Error(Code::usage, "--label-from '{}' {}", printable(text), fact)
      .hint(
          "write {label} where the class is, and {*} for anything else, as in '{label}_{*}.jpg', "
          "or "
          "a regular expression with a group of that name: '(?P<label>[a-z]+)'");
}

Error part_of_character(const std::string& pattern, std::string_view path) {
  return Error(Code::usage, "'{}' captures part of a character as the label: it matches bytes",
               printable(pattern))
      .at(std::string(path))
      .hint("capture all that stands between other characters, as in '(?P<label>[^_]+)'");
}

Error endless_pattern(const std::string& text, std::string_view path) {
  return Error(Code::usage,
               "--label-from '{}' takes more than {} steps to look for a label in '{}'",
               printable(text), kMostSteps, printable(path))
      .hint(
          "a repetition within a repetition, as in '(a+)+', can be divided in too many ways: write "
          "'a+', or {label} and {*} as in '{label}_{*}.jpg'");
}

struct TooManySteps {};

// The characters of a path, which count how often they are read or compared: the library has no
// limit of its own, or has one of its own kind, and this is the only code of ours that it calls.
class CountedChars {
 public:
  using iterator_category = std::bidirectional_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountedChars() = default;
  CountedChars(const char* at, std::uint64_t* steps) : at_(at), steps_(steps) {}

  reference operator*() const {
    count();
    return *at_;
  }
  bool operator==(const CountedChars& other) const {
    count();
    return at_ == other.at_;
  }
  CountedChars& operator++() {
    ++at_;
    return *this;
  }
  CountedChars operator++(int) { return {at_++, steps_}; }
  CountedChars& operator--() {
    --at_;
    return *this;
  }
  CountedChars operator--(int) { return {at_--, steps_}; }

 private:
  void count() const {
    if (steps_ != nullptr && ++*steps_ > kMostSteps) throw TooManySteps();
  }
  const char* at_ = nullptr;
  std::uint64_t* steps_ = nullptr;
};

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

LabelPattern::LabelPattern(const std::string& text) : text_(text) {
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
  std::uint64_t steps = 0;
  const CountedChars begin(path.data(), &steps), end(path.data() + path.size(), &steps);
  std::match_results<CountedChars> found;
  try {
    const bool fits = is_searched_ ? std::regex_search(begin, end, found, expression_)
                                   : std::regex_match(begin, end, found, expression_);
    steps = 0;  // what follows copies the label
    if (!fits || found[group_].length() == 0) return std::nullopt;
    std::string label = found[group_].str();
    if (is_utf8(path) && !is_utf8(label)) throw part_of_character(text_, path);
    return label;
  } catch (const TooManySteps&) {
    throw endless_pattern(text_, path);
  } catch (const std::regex_error&) {  // libc++ counts too
    throw endless_pattern(text_, path);
  }
}

}  // namespace shale
