#include "shale/arrays/raw_numbers.hpp"

#include <charconv>
#include <optional>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/data/field_choice.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostRowBytes = std::uint64_t{1} << 62U;
constexpr std::size_t kMostSides = 63;

Error wrong_word(std::string_view what, std::string_view word) {
  return Error(Code::usage, "--raw: '{}' is not {}", printable(word), what);
}

std::optional<std::uint64_t> number_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && !text.empty() ? std::optional(number) : std::nullopt;
}

StoredDType type_named(std::string_view word) {
  const bool has_order = !word.empty() && std::string_view("<>=|").find(word[0]) < 4;
  const std::string_view name = word.substr(has_order ? 1 : 0);
  try {
    const std::optional<DType> dtype = number_dtype(name);
    if (dtype && (dtype->is_structured() || !word.starts_with('>'))) return {*dtype, {}};
    return parse_stored_dtype(fmt::format("{}{}", word.starts_with('>') ? '>' : '<',
                                          dtype ? dtype->descr().substr(1) : std::string(name)));
  } catch (const Error&) {
    throw wrong_word("a type of numbers", word)
        .hint("the types are " + number_dtypes_text() +
              "; '>uint16' is big-endian; behind a comma the length of a row: uint16,400");
  }
}

}  // namespace

std::uint64_t RawNumbers::row_bytes() const {
  std::uint64_t bytes = type.dtype.item_bytes();
  for (const std::uint64_t side : row) bytes *= side;
  return bytes;
}

RawNumbers parse_raw(std::string_view text, std::uint64_t offset) {
  RawNumbers raw{.type = type_named(text.substr(0, text.find(','))), .offset = offset};
  std::uint64_t bytes = raw.type.dtype.item_bytes();
  for (std::size_t comma = text.find(','); comma != std::string_view::npos;) {
    const std::size_t begin = comma + 1;
    comma = text.find(',', begin);
    const std::string_view word = text.substr(begin, comma - begin);
    const std::optional<std::uint64_t> side = number_in(word);
    if (!side || *side == 0)
      throw wrong_word("the length of a side", word)
          .hint("behind the type are the sides of a row, from 1: uint16,400 or float32,3,224,224");
    if (*side > kMostRowBytes / bytes || raw.row.size() == kMostSides)
      throw Error(Code::usage, "--raw {}: a row is too large", printable(text))
          .hint("a row is one sample: the number of rows follows from the size of the file");
    bytes *= *side;
    raw.row.push_back(*side);
  }
  raw.words = text;
  if (offset > 0) raw.words += fmt::format("@{}", offset);
  return raw;
}

RawNumbers recorded_raw(std::string_view words) {
  if (words.empty()) return {};
  const std::size_t at = words.find('@');
  if (at == std::string_view::npos) return parse_raw(words);
  const std::optional<std::uint64_t> offset = number_in(words.substr(at + 1));
  if (!offset) throw wrong_word("an offset", words.substr(at + 1));
  return parse_raw(words.substr(0, at), *offset);
}

std::string options_of(const RawNumbers& raw) {
  std::string options = "--raw " + shell_word(raw.words.substr(0, raw.words.find('@')));
  if (raw.offset > 0) options += fmt::format(" --raw-offset {}", raw.offset);
  return options;
}

}  // namespace shale
