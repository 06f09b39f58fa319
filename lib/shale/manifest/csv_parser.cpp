#include "shale/manifest/csv_parser.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <utility>

namespace shale {
namespace {

constexpr std::uint64_t kFieldBytes = 32;
constexpr std::size_t kNowhere = std::string::npos;

}  // namespace

RowParser::RowParser(char delimiter, std::string text)
    : delimiter_(delimiter), buffer_(std::move(text)) {
  constexpr std::size_t kSpecial = std::tuple_size_v<decltype(special_)>;
  const std::array<char, kSpecial> special = {delimiter, '"', '\r', '\n'};
  for (std::size_t i = 0; i < kSpecial; ++i)
    std::memset(&special_[i], special[i], sizeof(Lanes));  // NOLINT
}

void RowParser::take(std::string_view bytes, const Use& use) {
  buffer_.append(bytes);
  buffer_.erase(0, use_rows(false, use));
}

// Where the first row that is not whole begins.
std::size_t RowParser::use_rows(bool at_end, const Use& use) {
  std::size_t begin = begin_of_row(0);
  for (std::size_t end = 0; (end = end_of_row(begin, at_end)) > 0; begin = begin_of_row(end)) {
    for (const std::size_t field : escaped_) fields_[field] = without_escapes(fields_[field]);
    use(fields_);
  }
  return begin;
}

// Of blanks several divide like one, and those before and behind a row do not.
std::size_t RowParser::behind_blanks(std::size_t place) const {
  if (delimiter_ != ' ') return place;
  return std::min(buffer_.find_first_not_of(' ', place), buffer_.size());
}

std::size_t RowParser::begin_of_row(std::size_t place) const {
  for (place = behind_blanks(place); place < buffer_.size() && ends_row(place);
       place = behind_blanks(place + 1)) {
  }
  return place;
}

// Finds the fields of the row that begins there. 0: it has no end yet.
std::size_t RowParser::end_of_row(std::size_t place, bool at_end) {
  fields_.clear();
  escaped_.clear();
  row_bytes_ = 0;
  if (place == buffer_.size()) return 0;
  for (;; place = behind_blanks(place + 1)) {
    if (place == buffer_.size() || ends_row(place)) {
      if (delimiter_ != ' ') add_field({});  // behind a delimiter there is a field
      break;
    }
    place = at(place) == '"' ? end_of_quoted(place + 1, at_end) : end_of_plain(place, at_end);
    if (place == kNowhere) return 0;
    if (place == buffer_.size() || ends_row(place)) break;
  }
  return place < buffer_.size() || at_end ? place : 0;
}

std::size_t RowParser::end_of_plain(std::size_t begin, bool at_end) {
  const std::size_t end = next_special(begin);
  limit(end - begin);
  if (end == buffer_.size() && !at_end) return kNowhere;
  if (end < buffer_.size() && at(end) == '"') throw BadRow{};
  add_field(std::string_view(buffer_).substr(begin, end - begin));
  return end;
}

std::size_t RowParser::end_of_quoted(std::size_t begin, bool at_end) {
  std::size_t escapes = 0, end = begin;
  for (;; end += 2, ++escapes) {
    end = std::min(buffer_.find('"', end), buffer_.size());
    limit(end - begin - escapes);
    if (end == buffer_.size() && at_end) throw BadRow{};
    if (end + 1 >= buffer_.size() && !at_end) return kNowhere;
    if (end + 1 == buffer_.size() || at(end + 1) != '"') break;
  }
  if (escapes > 0) escaped_.push_back(fields_.size());
  row_bytes_ -= escapes;
  add_field(std::string_view(buffer_).substr(begin, end - begin));
  ++end;
  if (end < buffer_.size() && at(end) != delimiter_ && !ends_row(end)) throw BadRow{};
  return end;
}

// The next byte that is a delimiter, a quote, or the end of a line.
std::size_t RowParser::next_special(std::size_t place) const {
  for (; place + sizeof(Lanes) <= buffer_.size(); place += sizeof(Lanes)) {
    Lanes bytes;
    std::memcpy(&bytes, buffer_.data() + place, sizeof bytes);
    const Lanes found = (bytes == special_[0]) | (bytes == special_[1]) | (bytes == special_[2]) |
                        (bytes == special_[3]);
    const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(found);
    if (halves[0] != 0) return place + static_cast<std::size_t>(std::countr_zero(halves[0])) / 8;
    if (halves[1] != 0)
      return place + 8 + static_cast<std::size_t>(std::countr_zero(halves[1])) / 8;
  }
  const char special[] = {delimiter_, '"', '\r', '\n'};
  return std::min(buffer_.find_first_of(special, place, sizeof special), buffer_.size());
}

// In place: the row is whole, and nobody reads it again.
std::string_view RowParser::without_escapes(std::string_view field) {
  char* const begin = buffer_.data() + (field.data() - buffer_.data());
  char* end = begin;
  for (std::size_t i = 0; i < field.size(); ++i) {
    *end++ = field[i];
    if (field[i] == '"') ++i;
  }
  return {begin, end};
}

void RowParser::add_field(std::string_view field) {
  fields_.push_back(field);
  row_bytes_ += kFieldBytes + field.size();  // empty fields take memory, too
  limit(0);
}

void RowParser::limit(std::size_t more) const {
  if (row_bytes_ + more > kLargestRowBytes) throw BadRow{.is_too_large = true};
}

}  // namespace shale
