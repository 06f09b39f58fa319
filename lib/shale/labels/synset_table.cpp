#include "shale/labels/synset_table.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/base/inflate.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/io/input_file.hpp"
#include "shale/manifest/csv.hpp"

// A MATLAB 5 file, little-endian:
//
//   +0    text, 124 bytes; u16 version 0x0100; "IM"
//   +128  elements: u32 type, u32 length, that many bytes, padded to 8; or, where the upper half of
//         the type is not 0, u16 type, u16 length, 4 bytes
//         type 15: a zlib stream of one element, not padded
//         type 14: an array, elements itself: flags (the first byte is its class), sides, name, and
//                  for a struct (class 2) the length of a field's name, the names, then the fields
//                  of each struct, arrays all of them; else the values

namespace shale {
namespace {

constexpr std::uint64_t kLargestBytes = 16 << 20;
constexpr std::size_t kMatHeaderBytes = 128, kZlibHeaderBytes = 2;
constexpr std::uint32_t kArray = 14, kCompressed = 15;
constexpr std::uint8_t kStructClass = 2, kCharClass = 4;

Error not_synsets(const std::string& path, std::string_view fact) {
  return Error(Code::bad_content, "is not a list of ILSVRC's classes: {}", fact)
      .at(path)
      .hint("take meta.mat or map_clsloc.txt from the devkit of ILSVRC");
}

// Numbers from 1 on, each once, as each name.
std::vector<std::string> in_order(const std::map<std::uint64_t, std::string>& by_number,
                                  const std::string& path) {
  if (by_number.empty()) throw not_synsets(path, "it has none");
  std::vector<std::string> names;
  std::set<std::string_view> seen;
  for (const auto& [number, name] : by_number) {
    if (number != names.size() + 1)
      throw not_synsets(path, fmt::format("number {} is missing", names.size() + 1));
    if (!seen.insert(name).second)
      throw not_synsets(path, fmt::format("'{}' comes twice", printable(name)));
    names.push_back(name);
  }
  return names;
}

struct MatElement {
  std::uint32_t type = 0;
  Bytes bytes;
};

MatElement read_element(ByteReader& from) {
  MatElement element;
  const std::uint32_t word = from.read_u32();
  if ((word >> 16) != 0) {
    element.type = word & 0xffff;
    element.bytes = from.read_bytes(4);
    element.bytes = element.bytes.first(std::min<std::size_t>(word >> 16, 4));
    return element;
  }
  element.type = word;
  const std::uint32_t length = from.read_u32();
  element.bytes = from.read_bytes(length);
  if (word != kCompressed)
    from.skip(std::min<std::uint64_t>((8 - length % 8) % 8, from.remaining()));
  return element;
}

std::vector<std::byte> decompressed(Bytes stream, const std::string& path) {
  std::vector<std::byte> into;
  Inflater inflater;
  stream = stream.subspan(std::min(stream.size(), kZlibHeaderBytes));
  for (bool has_ended = false; !has_ended;) {
    if (into.size() >= kLargestBytes)
      throw not_synsets(path, fmt::format("it decompresses to more than {} bytes", kLargestBytes));
    const std::size_t had = into.size();
    into.resize(had + (1 << 20));
    const Inflater::Progress progress = inflater.inflate(stream, std::span(into).subspan(had));
    stream = stream.subspan(progress.taken);
    into.resize(had + progress.given);
    has_ended = progress.has_ended;
    if (!has_ended && progress.given == 0) throw not_synsets(path, "its stream is truncated");
  }
  return into;
}

// Element `at` of a run of numbers or of the units of a string, as it is stored.
std::optional<double> number_in(const MatElement& values, std::size_t at) {
  constexpr std::size_t kSizes[] = {0, 1, 1, 2, 2, 4, 4, 4, 0, 8, 0, 0, 8, 8, 0, 0, 1};
  const std::size_t size = values.type < std::size(kSizes) ? kSizes[values.type] : 0;
  if (size == 0 || values.bytes.size() / size <= at) return std::nullopt;
  ByteReader from(values.bytes.subspan(at * size, size));
  switch (values.type) {
    case 7: {
      const std::uint32_t word = from.read_u32();
      float number = 0;
      std::memcpy(&number, &word, sizeof(number));
      return number;
    }
    case 9:
      return from.read_f64();
    default: {
      std::uint64_t number = 0;
      for (std::size_t i = 0; i < size; ++i) number |= std::uint64_t{from.read_u8()} << (8 * i);
      return static_cast<double>(number);
    }
  }
}

// A field of a struct that is one number, or a string.
struct MatValue {
  std::optional<double> number;
  std::string text;
};

MatValue read_value(const MatElement& array) {
  MatValue value;
  if (array.type != kArray || array.bytes.empty()) return value;
  ByteReader from(array.bytes);
  const MatElement flags = read_element(from);
  (void)read_element(from);  // sides
  (void)read_element(from);  // name
  if (flags.bytes.empty() || from.at_end()) return value;
  const std::uint8_t its_class = std::to_integer<std::uint8_t>(flags.bytes.front());
  if (its_class < kCharClass) return value;
  const MatElement values = read_element(from);
  if (its_class > kCharClass) {
    value.number = number_in(values, 0);
    return value;
  }
  for (std::size_t i = 0; const std::optional<double> unit = number_in(values, i); ++i)
    value.text += *unit < 128 ? static_cast<char>(*unit) : '?';
  return value;
}

// The names of fields, each in a run of `length` bytes that ends in NULs.
std::vector<std::string> field_names(const MatElement& length_of, const MatElement& names) {
  const auto length = static_cast<std::size_t>(number_in(length_of, 0).value_or(0));
  std::vector<std::string> all;
  if (length == 0) return all;
  const std::string_view text = as_text(names.bytes);
  for (std::size_t at = 0; at + length <= text.size(); at += length) {
    const std::string_view name = text.substr(at, length);
    all.emplace_back(name.substr(0, name.find('\0')));
  }
  return all;
}

// The synsets by number, if the array is one of structs that have both; else none.
std::map<std::uint64_t, std::string> read_structs(const MatElement& array) {
  std::map<std::uint64_t, std::string> by_number;
  ByteReader from(array.bytes);
  const MatElement flags = read_element(from);
  if (flags.bytes.empty() || std::to_integer<std::uint8_t>(flags.bytes.front()) != kStructClass)
    return by_number;
  (void)read_element(from);  // sides
  (void)read_element(from);  // name
  const MatElement length = read_element(from);
  const std::vector<std::string> names = field_names(length, read_element(from));
  if (names.empty()) return by_number;
  while (!from.at_end()) {
    std::optional<double> number, children;
    std::string wnid;
    for (const std::string& name : names) {
      const MatValue value = read_value(read_element(from));
      if (name.starts_with("ILSVRC") && name.ends_with("_ID")) number = value.number;
      if (name == "WNID") wnid = value.text;
      if (name == "num_children") children = value.number;
    }
    const bool is_class = number && !wnid.empty() && !(children && *children > 0);
    if (is_class && *number >= 1 && *number < 1e6)
      by_number.emplace(static_cast<std::uint64_t>(*number), wnid);
  }
  return by_number;
}

}  // namespace

std::vector<std::string> synsets_of_map(const std::string& path) {
  const std::vector<std::byte> bytes = read_file(path, kLargestBytes);
  std::map<std::uint64_t, std::string> by_number;
  std::string_view text = without_byte_order_mark(as_text(bytes));
  for (std::uint64_t row = 1; !text.empty(); ++row) {
    const std::string_view line = trimmed(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
    if (line.empty()) continue;
    const std::size_t name_end = std::min(line.find(' '), line.size());
    const std::string_view rest = trimmed(line.substr(name_end));
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    const bool ends_there = end == rest.data() + rest.size() || *end == ' ';
    if (error != std::errc() || !ends_there)
      throw not_synsets(path, fmt::format("line {} is not a name and a number", row));
    if (!by_number.emplace(number, line.substr(0, name_end)).second)
      throw not_synsets(path, fmt::format("line {} has the number {} again", row, number));
  }
  return in_order(by_number, path);
}

std::vector<std::string> synsets_of_devkit(const std::string& path) try {
  const std::vector<std::byte> bytes = read_file(path, kLargestBytes);
  ByteReader from(bytes);
  const std::string_view header = as_text(from.read_bytes(kMatHeaderBytes));
  if (!header.starts_with("MATLAB 5.0") || !header.ends_with("IM"))
    throw not_synsets(path, "it does not start like a MATLAB 5 file");
  while (!from.at_end()) {
    MatElement element = read_element(from);
    std::vector<std::byte> inflated;
    if (element.type == kCompressed) {
      inflated = decompressed(element.bytes, path);
      ByteReader inner(inflated);
      element = read_element(inner);
    }
    if (element.type != kArray) continue;
    const std::map<std::uint64_t, std::string> by_number = read_structs(element);
    if (!by_number.empty()) return in_order(by_number, path);
  }
  throw not_synsets(path, "it has no structs with WNID and ILSVRC2012_ID");
} catch (const Error& error) {
  if (error.code() != Code::damaged) throw;
  throw not_synsets(path, "a length in it points past its end");
}

}  // namespace shale
