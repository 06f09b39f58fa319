#include "shale/manifest/json_lines.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/data/json_text.hpp"
#include "shale/io/input_file.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/json_document.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kLongestLineBytes = 1 << 20, kPieceBytes = 256 * 1024, kHeadBytes = 4096;

JsonMember::Kind kind_of(std::string_view value) {
  switch (value.front()) {
    case '"':
      return JsonMember::Kind::text;
    case '{':
    case '[':
      return JsonMember::Kind::nested;
    case 't':
    case 'f':
      return JsonMember::Kind::boolean;
    case 'n':
      return JsonMember::Kind::null;
    default:
      return value.find_first_of(".eE") == std::string_view::npos ? JsonMember::Kind::integer
                                                                  : JsonMember::Kind::real;
  }
}

void use_line(const std::string& path, std::uint64_t number, std::string_view line,
              const std::function<void(std::uint64_t, const std::vector<JsonMember>&)>& use) {
  const std::string_view object = trimmed(line);
  if (object.empty()) return;
  const std::optional<std::string> fault =
      object.front() == '{' ? json_fault(object) : "it does not begin with '{'";
  if (fault) {
    throw Error(Code::bad_content, "line {} is not a JSON object: {}", number, *fault)
        .at(path)
        .hint("write one object per line");
  }
  std::vector<JsonMember> members;
  (void)for_each_member(object, [&](std::string_view name, std::string_view value) {
    members.push_back(json_member(name, value));
  });
  std::set<std::string_view> names;
  for (const JsonMember& member : members) {
    if (names.insert(member.name).second) continue;
    throw Error(Code::bad_content, "line {} has '{}' twice", number, printable(member.name))
        .at(path)
        .hint("remove all but one of them");
  }
  use(number, members);
}

}  // namespace

JsonMember json_member(std::string_view name, std::string_view value) {
  const JsonMember::Kind kind = kind_of(value);
  return {decoded_json_string(fmt::format("\"{}\"", name)).value_or(std::string(name)), kind,
          kind == JsonMember::Kind::text ? decoded_json_string(value).value_or(std::string(value))
                                         : std::string(value)};
}

std::string_view name_of(JsonMember::Kind kind) {
  constexpr std::array<std::string_view, 6> kNames = {"null",   "a boolean", "an integer",
                                                      "a real", "a string",  "an array or object"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool has_json_lines_suffix(std::string_view name) {
  const auto ends_with = [name](std::string_view suffix) {
    const auto lower = [](char c) {
      return static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    };
    return name.size() >= suffix.size() &&
           std::ranges::equal(name.substr(name.size() - suffix.size()), suffix, {}, lower);
  };
  return ends_with(".jsonl") || ends_with(".ndjson");
}

bool begins_like_json(const std::string& path) {
  const InputFile file(path);
  std::string head(std::min<std::uint64_t>(file.size(), kHeadBytes), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(head)));
  std::string_view left = trimmed(without_byte_order_mark(head));
  if (left.starts_with('[')) left = trimmed(left.substr(1));
  return left.starts_with('{') && trimmed(left.substr(1)).starts_with('"');
}

Error line_too_long(const std::string& path, std::uint64_t line, std::uint64_t most) {
  return Error(Code::bad_content, "line {} has more than {} bytes", line, most).at(path);
}

void read_json_lines(
    const std::string& path,
    const std::function<void(std::uint64_t, const std::vector<JsonMember>&)>& use) {
  const InputFile file(path);
  std::string piece(kPieceBytes, '\0'), line;
  std::uint64_t number = 1;
  for (std::uint64_t offset = 0; offset < file.size();) {
    const std::uint64_t read = file.read_some(offset, std::as_writable_bytes(std::span(piece)));
    if (read == 0) break;
    offset += read;
    std::string_view left = std::string_view(piece).substr(0, read);
    while (!left.empty()) {
      const std::size_t end = std::min(left.find('\n'), left.size());
      line.append(left.substr(0, end));
      if (line.size() > kLongestLineBytes) {
        throw line_too_long(path, number, kLongestLineBytes).hint("write one JSON object per line");
      }
      if (end == left.size()) break;
      left.remove_prefix(end + 1);
      use_line(path, number, number == 1 ? without_byte_order_mark(line) : line, use);
      line.clear();
      ++number;
    }
  }
  use_line(path, number, number == 1 ? without_byte_order_mark(line) : line, use);
}

}  // namespace shale
