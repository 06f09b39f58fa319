#include "shale/format/key_pattern.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/data/array_text.hpp"
#include "shale/data/field_type.hpp"

namespace shale {
namespace {

constexpr std::string_view kKeyPlace = "{key}", kDigits = "0123456789";
constexpr std::size_t kMostPatternFields = 256;
constexpr unsigned kMostDigits = 20;

struct KindWord {
  std::string_view word;
  Kind kind;
};
constexpr KindWord kKindWords[] = {
    {"bytes", Kind::bytes}, {"text", Kind::text}, {"integer", Kind::integer}, {"real", Kind::real}};

Error bad_pattern(std::string_view part, std::string_view fact) {
  return Error(Code::usage, "--parse: '{}' {}", printable(part), fact)
      .hint(
          "write FIELD=PATTERN, with %d or %09d for the number of the sample or {key} for its key, "
          "such as --parse 'image=image-%09d, label=label-%09d, count=num-samples, from=1'");
}

// "float32": of numbers that lie in a value as they are.
std::optional<DType> dtype_named(std::string_view word) try {
  const Field row = parse_field_type(fmt::format("{} (?)", word));
  const bool is_row = row.kind == Kind::tensor && row.shape.size() == 1 && !row.is_optional &&
                      !row.dtype.is_structured() && !row.dtype.descr().starts_with('>');
  return is_row ? std::optional(row.dtype) : std::nullopt;
} catch (const Error&) {
  return std::nullopt;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == std::string_view::npos;
}

// Takes a pattern apart: one place, and what is around it.
class PatternReader {
 public:
  PatternReader(KeyField& field, std::string_view part) : field_(field), part_(part) {}

  void read(std::string_view pattern) {
    while (!pattern.empty()) {
      const std::size_t taken = take(pattern);
      pattern.remove_prefix(taken);
    }
    if (!has_place_) throw bad_pattern(part_, "has no %d and no {key}");
  }

 private:
  std::size_t take(std::string_view pattern) {
    if (pattern.starts_with("%%")) return append('%', 2);
    if (pattern.starts_with(kKeyPlace)) return place(false, 0, kKeyPlace.size());
    if (pattern[0] != '%') return append(pattern[0], 1);
    const std::size_t end = pattern.find('d');
    if (end == std::string_view::npos) throw bad_pattern(part_, "has a % that is not %d");
    const std::string_view width = pattern.substr(1, end - 1);
    unsigned digits = 0;
    if (!width.empty()) {
      const bool is_width = width.size() >= 2 && width[0] == '0' && is_number(width);
      const auto [stop, error] = std::from_chars(width.data(), width.data() + width.size(), digits);
      if (!is_width || error != std::errc() || digits == 0 || digits > kMostDigits)
        throw bad_pattern(part_, "has a % that is neither %d nor as %09d");
    }
    return place(true, digits, end + 1);
  }

  std::size_t append(char byte, std::size_t taken) {
    (has_place_ ? field_.after : field_.before) += byte;
    return taken;
  }

  std::size_t place(bool is_numbered, unsigned digits, std::size_t taken) {
    if (std::exchange(has_place_, true)) throw bad_pattern(part_, "has more than one place");
    field_.is_numbered = is_numbered;
    field_.digits = digits;
    return taken;
  }

  KeyField& field_;
  std::string_view part_;
  bool has_place_ = false;
};

KeyField parse_field(std::string_view part, std::string_view name, std::string_view pattern) {
  KeyField field;
  const std::size_t colon = name.rfind(':');
  if (colon != std::string_view::npos) {
    const std::string_view word = trimmed(name.substr(colon + 1));
    const auto* const found = std::ranges::find(kKindWords, word, &KindWord::word);
    if (found != std::end(kKindWords)) {
      field.kind = found->kind;
    } else {
      field.kind = Kind::tensor;
      field.dtype = dtype_named(word);
      if (!field.dtype)
        throw bad_pattern(
            part,
            "has a kind that is none of bytes, text, integer and real, and no type of "
            "numbers such as float32");
    }
    name = trimmed(name.substr(0, colon));
  }
  if (name.empty()) throw bad_pattern(part, "has no name of a field");
  field.name = name;
  PatternReader(field, part).read(pattern);
  return field;
}

std::string escaped(std::string_view text) {
  std::string made;
  for (const char byte : text) made += byte == '%' ? std::string("%%") : std::string(1, byte);
  return made;
}

}  // namespace

std::string KeyField::key_of(std::string_view captured) const {
  return fmt::format("{}{}{}", before, captured, after);
}

std::string KeyField::text_of(std::uint64_t number) const {
  return fmt::format("{:0{}}", number, std::max(digits, 1U));
}

std::optional<std::string_view> KeyField::captured_in(std::string_view key) const {
  if (key.size() <= before.size() + after.size() || !key.starts_with(before) ||
      !key.ends_with(after))
    return std::nullopt;
  const std::string_view inner =
      key.substr(before.size(), key.size() - before.size() - after.size());
  if (!is_numbered) return inner;
  const bool is_plain =
      inner.size() == std::max(digits, 1U) || (inner.size() > digits && inner[0] != '0');
  return is_plain && is_number(inner) ? std::optional(inner) : std::nullopt;
}

std::optional<std::size_t> KeyPattern::field_of(std::string_view key) const {
  std::optional<std::size_t> best;
  const auto said = [](const KeyField& field) { return field.before.size() + field.after.size(); };
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i].captured_in(key)) continue;
    if (!best || said(fields[i]) > said(fields[*best])) best = i;
  }
  return best;
}

KeyPattern parse_key_pattern(std::string_view text) {
  KeyPattern pattern;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    const std::size_t equals = part.find('=');
    if (equals == std::string_view::npos) throw bad_pattern(part, "is not FIELD=PATTERN");
    const std::string_view name = trimmed(part.substr(0, equals)),
                           value = trimmed(part.substr(equals + 1));
    if (name == "count") {
      if (value.empty()) throw bad_pattern(part, "names no entry");
      pattern.count_key = value;
      continue;
    }
    if (name == "from") {
      const std::optional<std::uint64_t> from = count_in(value);
      if (!from) throw bad_pattern(part, "is not a whole number");
      pattern.from = *from;
      continue;
    }
    KeyField field = parse_field(part, name, value);
    if (std::ranges::find(pattern.fields, field.name, &KeyField::name) != pattern.fields.end())
      throw bad_pattern(part, "has the name of a field before it");
    if (pattern.fields.size() == kMostPatternFields)
      throw bad_pattern(part, "is one field more than the limit of 256");
    if (!pattern.fields.empty() && pattern.is_numbered() != field.is_numbered)
      throw bad_pattern(part, "has {key} where others have %d, or %d where they have {key}");
    pattern.fields.push_back(std::move(field));
  }
  if (pattern.fields.empty()) throw bad_pattern(text, "has no field");
  if (!pattern.is_numbered() && (!pattern.count_key.empty() || pattern.from != 0))
    throw bad_pattern(text, "has {key}, which count and from do not go with");
  return pattern;
}

std::string text_of(const KeyPattern& pattern) {
  std::string text;
  for (const KeyField& field : pattern.fields) {
    text += (text.empty() ? "" : ", ") + field.name;
    for (const KindWord& word : kKindWords)
      if (field.kind == word.kind) text += fmt::format(":{}", word.word);
    if (field.dtype) text += ":" + dtype_text(*field.dtype);
    const std::string place = !field.is_numbered  ? std::string(kKeyPlace)
                              : field.digits == 0 ? "%d"
                                                  : fmt::format("%0{}d", field.digits);
    text += '=' + escaped(field.before) + place + escaped(field.after);
  }
  if (!pattern.count_key.empty()) text += ", count=" + pattern.count_key;
  if (pattern.from != 0) text += fmt::format(", from={}", pattern.from);
  return text;
}

std::optional<std::uint64_t> count_in(std::string_view text) {
  std::uint64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  const bool is_count =
      error == std::errc() && end == text.data() + text.size() && count < std::uint64_t{1} << 62;
  return is_count ? std::optional(count) : std::nullopt;
}

std::optional<KeyField> numbered_field_of(std::string_view key) {
  const std::size_t last = key.find_last_of(kDigits);
  if (last == std::string_view::npos) return std::nullopt;
  const std::size_t before = key.substr(0, last + 1).find_last_not_of(kDigits);
  const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  KeyField field{.name = {},
                 .before = std::string(key.substr(0, begin)),
                 .after = std::string(key.substr(last + 1)),
                 .is_numbered = true};
  const auto digits = static_cast<unsigned>(last + 1 - begin);
  if (digits > kMostDigits - 1) return std::nullopt;
  // A number that begins with 0 has a width; any other may have one.
  if (key[begin] == '0' && digits > 1) field.digits = digits;
  const auto is_of_name = [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9');
  };
  for (const char byte : field.before + ' ' + field.after) {
    if (is_of_name(byte))
      field.name += byte;
    else if (!field.name.empty() && field.name.back() != '_')
      field.name += '_';
  }
  while (field.name.ends_with('_')) field.name.pop_back();
  if (field.name.empty()) field.name = "value";
  return field;
}

}  // namespace shale
