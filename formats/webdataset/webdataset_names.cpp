#include "formats/webdataset/webdataset_names.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/image/probe.hpp"

namespace shale {
namespace {

constexpr std::string_view kBinary = "bin", kLabel = "label", kImage = "image";
constexpr std::string_view kImages[] = {"jpg", "jpeg", "jpe", "jfif", "png",  "gif",  "webp",
                                        "tif", "tiff", "bmp", "dib",  "avif", "heic", "heif",
                                        "hif", "ppm",  "pgm", "pbm",  "pnm"};
constexpr std::string_view kTexts[] = {"txt", "text", "transcript"};
constexpr std::string_view kIntegers[] = {"cls", "cls2", "index", "inx", "id"};
constexpr std::string_view kJsons[] = {"json", "jsn"};
// Other types of files that fields are called by.
constexpr std::string_view kBinaries[] = {
    "bin", "npz",  "pkl",  "pickle", "pyd", "pth", "pt",         "ten", "tb",
    "mp",  "msg",  "cbor", "mp4",    "m4v", "mov", "mkv",        "avi", "webm",
    "mpg", "mpeg", "wav",  "flac",   "mp3", "ogg", "opus",       "m4a", "aac",
    "gz",  "zip",  "pdf",  "html",   "svg", "exr", "safetensors"};
constexpr int kFewestDigits = 5;  // of an element's number

template <class List>
bool holds(const List& list, std::string_view name) {
  return std::ranges::find(list, name) != std::end(list);
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// Those of the portable file names, and what is as harmless.
bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("-_+=,@~()[]").find(c) != std::string_view::npos;
}

void append_escaped(std::string& to, char c) {
  to += fmt::format("%{:02X}", static_cast<unsigned>(static_cast<std::uint8_t>(c)));
}

std::string escaped_component(std::string_view text, bool keeps_dots) {
  std::string safe;
  for (const char c : text) {
    if (is_plain(c) || (c == '.' && keeps_dots)) {
      safe += c;
    } else {
      append_escaped(safe, c);
    }
  }
  return safe;
}

std::string_view without_image_suffix(std::string_view key) {
  const std::size_t dot = key.rfind('.'), base = key.rfind('/') + 1;
  const bool has_suffix = dot != std::string_view::npos && dot > base && has_image_suffix(key);
  return has_suffix ? key.substr(0, dot) : key;
}

// The last part that all members of a field have; empty: their content chooses it.
std::string fixed_extension(const Field& field) {
  const Kind kind = field.kind == Kind::list ? field.elements : field.kind;
  switch (kind) {
    case Kind::text:
      return field.is_json ? "json" : "txt";
    case Kind::integer:
      return "cls";
    case Kind::real:
      return "json";
    case Kind::tensor:
      return "npy";
    case Kind::bytes:
    case Kind::list:
      break;
  }
  return "";
}

// The field is called like an extension of files of its type.
bool is_named_by_type(const Field& field) {
  switch (field.kind) {
    case Kind::bytes:
      return holds(kImages, field.name) || holds(kBinaries, field.name);
    case Kind::text:
      return field.is_json ? holds(kJsons, field.name)
                           : holds(kTexts, field.name) && field.name != "text";
    case Kind::integer:
      return holds(kIntegers, field.name);
    case Kind::tensor:
      return field.name == "npy";
    case Kind::real:
    case Kind::list:
      break;
  }
  return false;
}

// The field has the usual name of what most sets have one of.
bool has_usual_name(const Field& field) {
  return (field.kind == Kind::bytes && field.name == kImage) ||
         (field.kind == Kind::integer && field.name == kLabel) ||
         (field.kind == Kind::text && !field.is_json && field.name == "text");
}

}  // namespace

std::optional<MemberName> split_member_name(std::string_view path) {
  const std::size_t base = path.rfind('/') + 1, dot = path.find('.', base);
  const std::string_view first = path.substr(0, path.find('/'));
  const bool is_hidden = first.size() >= 4 && first.starts_with("__") && first.ends_with("__");
  if (dot == std::string_view::npos || is_hidden) return std::nullopt;
  return MemberName{path.substr(0, dot), path.substr(dot + 1)};
}

ExtensionKind kind_of_extension(std::string_view extension) {
  const std::string last = lower_case(extension.substr(extension.rfind('.') + 1));
  if (holds(kImages, last)) return ExtensionKind::image;
  if (holds(kTexts, last)) return ExtensionKind::text;
  if (holds(kJsons, last)) return ExtensionKind::json;
  if (holds(kIntegers, last)) return ExtensionKind::integer;
  if (last == "npy") return ExtensionKind::npy;
  return last == "npz" ? ExtensionKind::npz : ExtensionKind::other;
}

std::string_view extension_of_content(Bytes head) {
  switch (image_type_of(head.first(std::min<std::size_t>(head.size(), kImageHeadBytes)))) {
    case ImageType::jpeg:
      return "jpg";
    case ImageType::png:
      return "png";
    case ImageType::gif:
      return "gif";
    case ImageType::bmp:
      return "bmp";
    case ImageType::pnm:
      return "pnm";
    case ImageType::tiff:
      return "tif";
    case ImageType::webp:
      return "webp";
    case ImageType::heic:
      return "heic";
    case ImageType::avif:
      return "avif";
    case ImageType::unknown:
      break;
  }
  return kBinary;
}

std::string_view extension_of_content(const AnyBytes& bytes) {
  const Unread* const unread = bytes.unread();
  if (unread == nullptr) return extension_of_content(bytes.held());
  std::array<std::byte, kImageHeadBytes> head{};
  const auto known = std::span(head).first(std::min<std::uint64_t>(head.size(), (*unread)->size()));
  (*unread)->read(0, known);
  return extension_of_content(Bytes(known));
}

std::string member_key(std::string_view key, bool keeps_suffix) {
  if (!keeps_suffix) key = without_image_suffix(key);
  if (key.empty()) return "%";  // what no byte is escaped as
  std::string safe;
  std::string_view left = key;
  while (true) {
    // A slash divides only where something stands on both sides of it.
    std::size_t slash = left.find('/');
    while (slash != std::string_view::npos &&
           (slash == 0 || slash + 1 == left.size() || left[slash + 1] == '/'))
      slash = left.find('/', slash + 1);
    const bool is_base = slash == std::string_view::npos;
    const std::string_view component = left.substr(0, slash);
    const bool is_relative = component == "." || component == "..";
    std::string name = escaped_component(component, !is_base && !is_relative);
    if (name.starts_with("__")) name.replace(0, 1, "%5F");
    safe += name;
    if (is_base) break;
    safe += '/';
    left.remove_prefix(slash + 1);
  }
  return safe;
}

std::string FieldMembers::extension_of(std::string_view by_content) const {
  const std::string_view last = extension.empty() ? by_content : extension;
  return stem.empty() ? std::string(last) : fmt::format("{}.{}", stem, last);
}

std::string FieldMembers::extension_of_element(std::uint64_t number,
                                               std::string_view by_content) const {
  return fmt::format("{}.{:0{}}.{}", stem, number, kFewestDigits,
                     extension.empty() ? by_content : extension);
}

std::string FieldMembers::extension_of_empty_list() const { return stem + ".list"; }

MemberNames::MemberNames(const Schema& schema) {
  // A field that is called jpg is the jpg; image then has its name in front.
  const bool has_image_alone = std::ranges::any_of(schema.fields, [](const Field& field) {
    return field.kind == Kind::bytes && (holds(kImages, field.name) || field.name == kBinary);
  });
  for (std::size_t i = 0; i < schema.fields.size(); ++i) {
    const Field& field = schema.fields[i];
    FieldMembers& members = fields_.emplace_back();
    members.is_list = field.kind == Kind::list;
    members.extension = fixed_extension(field);
    const bool is_free =
        field.kind == Kind::bytes ? !has_image_alone : !schema.find(members.extension);
    if (is_named_by_type(field)) {
      members.extension = field.name;
      alone_.emplace(field.name, i);
    } else if (has_usual_name(field) && is_free) {
      if (members.extension.empty())
        by_content_alone_ = i;
      else
        alone_.emplace(members.extension, i);
    } else {
      members.stem = escaped_component(field.name, false);
      if (const auto [at, is_new] = by_stem_.emplace(lower_case(members.stem), i); !is_new) {
        throw Error(Code::schema, "fields '{}' and '{}' differ only in case",
                    printable(schema.fields[at->second].name), printable(field.name))
            .hint("readers of tar shards take them for one; choose another name: --rename");
      }
    }
  }
}

std::optional<FieldMember> MemberNames::find(std::string_view extension) const {
  const std::size_t dot = extension.find('.');
  if (dot == std::string_view::npos) {
    if (const auto at = alone_.find(std::string(extension)); at != alone_.end())
      return FieldMember{.field = at->second};
    if (by_content_alone_ && (holds(kImages, extension) || extension == kBinary))
      return FieldMember{.field = *by_content_alone_, .by_content = extension};
    return std::nullopt;
  }
  const auto at = by_stem_.find(lower_case(extension.substr(0, dot)));
  if (at == by_stem_.end()) return std::nullopt;
  const FieldMembers& members = fields_[at->second];
  FieldMember member{.field = at->second};
  std::string_view last = extension.substr(dot + 1);
  if (members.is_list && extension == members.extension_of_empty_list()) {
    member.is_empty_list = true;
    return member;
  }
  if (members.is_list) {
    std::uint64_t number = 0;
    const auto parsed = std::from_chars(last.data(), last.data() + last.size(), number);
    const auto digits = static_cast<std::size_t>(parsed.ptr - last.data());
    if (parsed.ec != std::errc() || digits == last.size() || last[digits] != '.')
      return std::nullopt;
    member.element = number;
    last.remove_prefix(digits + 1);
  }
  if (members.extension.empty()) member.by_content = last;
  const std::string expected = member.element ? members.extension_of_element(*member.element, last)
                                              : members.extension_of(last);
  const bool is_known = members.extension.empty() ? holds(kImages, last) || last == kBinary
                                                  : last == members.extension;
  return expected == extension && is_known ? std::optional(member) : std::nullopt;
}

}  // namespace shale
