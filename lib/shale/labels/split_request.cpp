#include "shale/labels/split_request.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/manifest/naming.hpp"

namespace shale {
namespace {

constexpr double kRoundingOfShares = 1e-9;

constexpr std::string_view kBesideSplits = "README.md";

// The name of a folder that readers find.
std::string name_in_word(std::string_view name, std::string_view word) {
  const bool is_one = !name.empty() && name.find('/') == std::string_view::npos &&
                      !name.starts_with('.') && printable(name) == name && !is_dataset_file(name) &&
                      !part_of_name(name) && name != kBesideSplits;
  if (is_one) return std::string(name);
  throw Error(Code::usage, "--split '{}': '{}' cannot be the name of a split, which is a folder",
              printable(word), printable(name))
      .hint("write train=0.7,test=0.3, or train=FILE,test=FILE");
}

// Of a file that is given without one.
std::string name_of_file(std::string_view path) {
  const std::string_view file = path.substr(path.rfind('/') + 1);
  for (const std::string_view name : {"train", "validation", "valid", "val", "test"}) {
    if (file.starts_with(name)) return std::string(name);
  }
  throw Error(Code::usage, "--split '{}': the name of the file does not say which list it is",
              printable(path))
      .hint("write train=FILE,test=FILE; a name may be left out if the file's own begins with it");
}

std::optional<double> number_in(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  return is_number ? std::optional(number) : std::nullopt;
}

// 0.7, 70% or 7/10; nullopt: it is not a number.
std::optional<double> share_in(std::string_view value, std::string_view word) {
  const std::size_t slash = value.find('/');
  std::optional<double> found;
  if (value.ends_with('%')) {
    found = number_in(value.substr(0, value.size() - 1));
    if (found) *found /= 100;
  } else if (slash != std::string_view::npos) {
    found = number_in(value.substr(0, slash));
    const std::optional<double> of = number_in(value.substr(slash + 1));
    if (found && of) *found /= *of;
    if (!of) found.reset();
  } else {
    found = number_in(value);
  }
  if (!found) return std::nullopt;
  const double share = *found;
  if (share > 0 && share <= 1) return share;
  throw Error(Code::usage, "--split '{}': a share is more than 0 and at most 1", printable(word))
      .hint(
          "write train=0.7,test=0.3, or 70% or 7/10; for a file whose name is a number write "
          "./NAME");
}

SplitPart part_in(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos)
    return {.name = name_of_file(word), .file = std::string(word)};
  SplitPart part{.name = name_in_word(word.substr(0, equals), word)};
  const std::string_view value = word.substr(equals + 1);
  if (value.empty()) {
    throw Error(Code::usage, "--split '{}' has neither a share nor a file", printable(word))
        .hint("write train=0.7,test=0.3, or train=FILE,test=FILE");
  }
  if (const std::optional<double> share = share_in(value, word)) {
    part.share = *share;
  } else {
    part.file = value;
  }
  return part;
}

void check_parts(const std::vector<SplitPart>& parts) {
  double sum = 0;
  for (auto part = parts.begin(); part != parts.end(); ++part) {
    const bool comes_twice = std::any_of(
        parts.begin(), part, [&](const SplitPart& other) { return other.name == part->name; });
    if (comes_twice) {
      throw Error(Code::usage, "--split names the list '{}' twice", part->name)
          .hint("name each list once");
    }
    if (part->file.empty() != parts.front().file.empty()) {
      throw Error(Code::usage, "--split has both shares and files")
          .hint("give all lists a share, or all of them a file");
    }
    sum += part->share;
  }
  if (!parts.front().file.empty() || std::abs(sum - 1) < kRoundingOfShares) return;
  throw Error(Code::usage, "--split: the shares add up to {:.10g}, expected 1", sum)
      .hint(
          "shares may be 70% or 1/3; to leave samples out, name those that are taken in files, or "
          "pass --select");
}

}  // namespace

SplitRequest parse_split(const std::vector<std::string>& words) {
  SplitRequest request;
  for (std::string_view word : words) {
    while (true) {
      const std::size_t end = std::min(word.find(','), word.size());
      request.parts.push_back(part_in(word.substr(0, end)));
      if (end == word.size()) break;
      word.remove_prefix(end + 1);
    }
  }
  if (!request.is_empty()) check_parts(request.parts);
  return request;
}

}  // namespace shale
