#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"

namespace shale {

/// A member of the object on a line.
struct JsonMember {
  enum class Kind { null, boolean, integer, real, text, nested };
  std::string name;
  Kind kind = Kind::null;
  /// Of a string what it stands for; of anything else its bytes in the file. `integer`: no point
  /// and no exponent, of any size.
  std::string text;
};
[[nodiscard]] std::string_view name_of(JsonMember::Kind kind);
/// One as it is written in valid JSON, its name without quotes.
[[nodiscard]] JsonMember json_member(std::string_view name, std::string_view value);

/// True for a file name that says that each line is a JSON object: .jsonl or .ndjson, in any case.
[[nodiscard]] bool has_json_lines_suffix(std::string_view name);
/// True for a file that begins like an object with a name in it, or like an array of such objects:
/// what no CSV file does. Errors: same as InputFile.
[[nodiscard]] bool begins_like_json(const std::string& path);

/// The error for a line of any file that is read line by line; `most`: bytes that it may have.
[[nodiscard]] Error line_too_long(const std::string& path, std::uint64_t line, std::uint64_t most);

/// Reads a file of one JSON object per line; blank lines are skipped, a byte order mark in front
/// too. Lines are counted from 1. Memory: one line, of at most 1 MiB; nothing nested is taken
/// apart, however deep it is. Errors: Code::bad_content with the line's number for what is not a
/// JSON object, for a member that comes twice, and for a longer line.
void read_json_lines(
    const std::string& path,
    const std::function<void(std::uint64_t line, const std::vector<JsonMember>& members)>& use);

}  // namespace shale
