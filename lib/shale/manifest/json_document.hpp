#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// Where a JSON value ends, also where it comes in pieces: nothing but strings and brackets is
/// looked at.
class JsonValueEnd {
 public:
  /// How many of the bytes are of the value; all of them: more may be, unless it is_done().
  [[nodiscard]] std::size_t take(std::string_view piece);
  [[nodiscard]] bool is_done() const { return is_done_; }

 private:
  std::size_t take_marked(char byte, std::size_t at);

  std::size_t depth_ = 0;
  bool is_quoted_ = false, is_escaped_ = false, is_done_ = false;
};

/// Calls use(name, value) for each member of an object, both as they are written, names without
/// their quotes. False: it is not an object. What is nested in the values is not checked.
[[nodiscard]] bool for_each_member(
    std::string_view object,
    const std::function<void(std::string_view name, std::string_view value)>& use);

/// What a string stands for, which is written with its quotes; nullopt: it is not valid.
[[nodiscard]] std::optional<std::string> decoded_json_string(std::string_view written);
/// The other way round; nullopt: the text is not UTF-8.
[[nodiscard]] std::optional<std::string> quoted_json(std::string_view text);

/// A file that is one JSON object, of any size: its members one after the other, and the elements
/// of those that are arrays. What is passed over, and what is nested in elements, is not checked,
/// but for its brackets and strings. Memory: one element, of at most 16 MiB. One thread. Errors of
/// all functions: Code::bad_content with the byte for what is not such a file, or ends too early;
/// Code::limit for a larger element; Code::io.
class JsonDocument {
 public:
  /// Errors: same as InputFile.
  explicit JsonDocument(const std::string& path);

  /// Steps to the next member, past what is left of the one before. False behind the last.
  [[nodiscard]] bool next_member();
  /// Of the member, as it is written.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// The first byte of its value.
  [[nodiscard]] char kind();
  /// The next element of its array, until the next call; nullopt behind the last. Of anything else
  /// than an array its value, once.
  [[nodiscard]] std::optional<std::string_view> next_element();
  /// How many of them there have been.
  [[nodiscard]] std::uint64_t elements() const { return elements_; }
  /// Bytes that have been read.
  [[nodiscard]] std::uint64_t position() const { return offset_ + begin_; }

 private:
  enum class Place : std::uint8_t { members, value, elements, behind };
  [[nodiscard]] bool fill();
  [[nodiscard]] char peek();
  void expect(char byte);
  [[nodiscard]] std::string_view take_value(bool keeps);
  [[nodiscard]] Error odd_byte(std::string_view expected);

  InputFile file_;
  std::string buffer_;
  std::size_t begin_ = 0;     // of what is left in the buffer
  std::uint64_t offset_ = 0;  // of the buffer in the file
  std::string name_;
  std::uint64_t elements_ = 0;
  Place place_ = Place::members;
  bool is_first_ = true, is_first_element_ = true;
};

}  // namespace shale
