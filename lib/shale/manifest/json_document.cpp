#include "shale/manifest/json_document.hpp"

#include <algorithm>
#include <array>
#include <span>

#include <nlohmann/json.hpp>

#include "shale/base/bytes.hpp"
#include "shale/base/printable.hpp"
#include "shale/manifest/csv.hpp"

namespace shale {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024, kMostElementBytes = 16 << 20;
constexpr std::string_view kBlanks = " \t\r\n";

constexpr std::array<bool, 256> table_of(std::string_view marks) {
  std::array<bool, 256> table{};
  for (const char mark : marks) table[static_cast<unsigned char>(mark)] = true;
  return table;
}
constexpr std::array<bool, 256> kInside = table_of("\"{}[]"), kOutside = table_of("\"{}[], \t\r\n"),
                                kInString = table_of("\"\\");

std::size_t first_of(const std::array<bool, 256>& marks, std::string_view piece, std::size_t at) {
  while (at < piece.size() && !marks[static_cast<unsigned char>(piece[at])]) ++at;
  return at;
}

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text;
}

}  // namespace

std::size_t JsonValueEnd::take(std::string_view piece) {
  for (std::size_t at = 0; at < piece.size();) {
    if (is_escaped_) {
      is_escaped_ = false;
      ++at;
      continue;
    }
    at = first_of(is_quoted_ ? kInString : depth_ > 0 ? kInside : kOutside, piece, at);
    if (at == piece.size()) break;
    at = take_marked(piece[at], at);
    if (is_done_) return at;
  }
  return piece.size();
}

std::size_t JsonValueEnd::take_marked(char byte, std::size_t at) {
  if (is_quoted_) {
    is_escaped_ = byte == '\\';
    is_quoted_ = is_escaped_;
    is_done_ = !is_quoted_ && depth_ == 0;
    return at + 1;
  }
  if (byte == '"') {
    is_quoted_ = true;
  } else if (byte == '{' || byte == '[') {
    ++depth_;
  } else if (depth_ == 0) {
    is_done_ = true;
    return at;
  } else {
    is_done_ = --depth_ == 0;
  }
  return at + 1;
}

bool for_each_member(
    std::string_view object,
    const std::function<void(std::string_view name, std::string_view value)>& use) {
  if (!object.starts_with('{')) return false;
  object = without_blanks(object.substr(1));
  for (bool is_first = true; !object.starts_with('}'); is_first = false) {
    if (!is_first) {
      if (!object.starts_with(',')) return false;
      object = without_blanks(object.substr(1));
    }
    if (!object.starts_with('"')) return false;
    JsonValueEnd end_of_name, end_of_value;
    const std::string_view name = object.substr(0, end_of_name.take(object));
    if (!end_of_name.is_done()) return false;
    object = without_blanks(object.substr(name.size()));
    if (!object.starts_with(':')) return false;
    object = without_blanks(object.substr(1));
    const std::string_view value = object.substr(0, end_of_value.take(object));
    if (!end_of_value.is_done() || value.empty()) return false;
    object = without_blanks(object.substr(value.size()));
    use(name.substr(1, name.size() - 2), value);
  }
  return without_blanks(object.substr(1)).empty();
}

std::optional<std::string> decoded_json_string(std::string_view written) {
  const nlohmann::json value = nlohmann::json::parse(written, nullptr, false);
  return value.is_string() ? std::optional(value.get<std::string>()) : std::nullopt;
}

std::optional<std::string> quoted_json(std::string_view text) try {
  return nlohmann::json(text).dump();
} catch (const nlohmann::json::exception&) {
  return std::nullopt;
}

JsonDocument::JsonDocument(const std::string& path) : file_(path) {
  (void)fill();
  begin_ = buffer_.size() - without_byte_order_mark(buffer_).size();
  expect('{');
}

// Reads more behind what is left. False: there is no more.
bool JsonDocument::fill() {
  buffer_.erase(0, begin_);
  offset_ += begin_;
  begin_ = 0;
  const std::size_t held = buffer_.size();
  buffer_.resize(held + kReadBytes);
  const std::span<char> into = std::span(buffer_).subspan(held);
  const std::uint64_t read = file_.read_some(offset_ + held, std::as_writable_bytes(into));
  buffer_.resize(held + read);
  return read > 0;
}

Error JsonDocument::odd_byte(std::string_view expected) {
  const bool is_end = begin_ == buffer_.size();
  const std::string where =
      name_.empty() ? "" : fmt::format(" in or behind '{}'", printable(name_));
  const std::string found =
      is_end ? "the file ends" : fmt::format("'{}'", printable(std::string(1, buffer_[begin_])));
  return Error(Code::bad_content, "is not a JSON object: {}{}, expected {}", found, where, expected)
      .at(file_.path(), position())
      .hint("the file is probably truncated, or was edited by hand: download or write it again");
}

// The next byte that is not a blank; NUL at the end.
char JsonDocument::peek() {
  for (;;) {
    const std::size_t found = buffer_.find_first_not_of(kBlanks, begin_);
    begin_ = std::min(found, buffer_.size());
    if (begin_ < buffer_.size()) return buffer_[begin_];
    if (!fill()) return '\0';
  }
}

void JsonDocument::expect(char byte) {
  if (peek() != byte || begin_ == buffer_.size()) throw odd_byte(fmt::format("'{}'", byte));
  ++begin_;
}

std::string_view JsonDocument::take_value(bool keeps) {
  if (std::string_view(",:]}").find(peek()) != std::string_view::npos || begin_ == buffer_.size())
    throw odd_byte("a value");
  JsonValueEnd end;
  for (std::size_t taken = 0;;) {
    taken += end.take(std::string_view(buffer_).substr(begin_ + taken));
    if (end.is_done()) {
      const std::string_view value = std::string_view(buffer_).substr(begin_, taken);
      begin_ += taken;
      return value;
    }
    if (keeps && taken > kMostElementBytes) {
      throw Error(Code::limit, "element {} of '{}' has more than {} bytes", elements_ + 1,
                  printable(name_), kMostElementBytes)
          .at(file_.path(), position());
    }
    if (!keeps) begin_ += std::exchange(taken, 0);
    if (fill()) continue;
    begin_ = buffer_.size();
    throw odd_byte("the end of a value");
  }
}

bool JsonDocument::next_member() {
  while (place_ == Place::value || place_ == Place::elements) {
    if (place_ == Place::value) {
      (void)take_value(false);
      place_ = Place::members;
    } else {
      (void)next_element();
    }
  }
  if (place_ == Place::behind) return false;
  if (peek() == '}') {
    ++begin_;
    place_ = Place::behind;
    if (peek() != '\0' || begin_ < buffer_.size()) throw odd_byte("no more");
    return false;
  }
  if (!std::exchange(is_first_, false)) expect(',');
  if (peek() != '"') throw odd_byte("a name");
  const std::string_view name = take_value(true);
  name_ = name.substr(1, name.size() - 2);
  expect(':');
  elements_ = 0;
  place_ = Place::value;
  return true;
}

char JsonDocument::kind() { return peek(); }

std::optional<std::string_view> JsonDocument::next_element() {
  if (place_ == Place::value) {
    if (peek() != '[') {
      place_ = Place::members;
      ++elements_;
      return take_value(true);
    }
    ++begin_;
    place_ = Place::elements;
    is_first_element_ = true;
  }
  if (place_ != Place::elements) return std::nullopt;
  if (peek() == ']') {
    ++begin_;
    place_ = Place::members;
    return std::nullopt;
  }
  if (!std::exchange(is_first_element_, false)) expect(',');
  std::string_view element = take_value(true);
  ++elements_;
  return element;
}

}  // namespace shale
