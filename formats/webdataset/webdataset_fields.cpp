#include "formats/webdataset/webdataset_fields.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/trimmed.hpp"
#include "shale/data/field_name.hpp"
#include "shale/image/probe.hpp"

namespace shale {
namespace {

constexpr std::string_view kImageField = "image", kLabelField = "label", kClassExtension = "cls",
                           kListExtension = "list";

std::string_view last_part(std::string_view extension) {
  return extension.substr(extension.rfind('.') + 1);
}

// "seg" of "seg.png"; empty if there are not two parts.
std::string_view first_of_two(std::string_view extension) {
  const std::size_t dot = extension.find('.');
  return dot == extension.npos || dot != extension.rfind('.') ? "" : extension.substr(0, dot);
}

std::string_view short_name_of_part(std::string_view extension) {
  return extension == kClassExtension    ? kLabelField
         : is_image_extension(extension) ? kImageField
                                         : "";
}

}  // namespace

ValueType value_type_of(std::string_view extension) {
  const std::string_view last = last_part(extension);
  if (last == kClassExtension) return ValueType::integer;
  if (last == "txt") return ValueType::text;
  if (last == "json") return ValueType::json;
  return last == "npy" ? ValueType::array : ValueType::bytes;
}

bool is_image_extension(std::string_view extension) {
  if (extension.find('.') != extension.npos) return false;
  return extension == "gif" || has_image_suffix("." + std::string(extension));
}

std::map<std::string, std::string> fields_of_extensions(const std::vector<std::string>& extensions,
                                                        bool has_one_image) {
  const std::set<std::string, std::less<>> all(extensions.begin(), extensions.end());
  std::map<std::string, std::string> names;
  std::map<std::string, std::size_t, std::less<>> taken;
  for (const std::string& extension : all) {
    std::string_view name = short_name_of_part(extension);
    if (all.contains(name) || (name == kImageField && !has_one_image)) name = "";
    if (name.empty() && first_of_two(extension).empty()) name = extension;
    if (name.empty()) continue;
    names[extension] = field_name_of(name);
    if (name != kImageField || taken[std::string(kImageField)] == 0) ++taken[names[extension]];
  }
  // Short names that are nobody else's, and no extension of their own.
  std::map<std::string, std::size_t> shorts;
  for (const std::string& extension : all) {
    if (!names.contains(extension)) ++shorts[field_name_of(first_of_two(extension))];
  }
  for (const std::string& extension : all) {
    if (names.contains(extension)) continue;
    const std::string whole = field_name_of(extension);
    std::string name = field_name_of(first_of_two(extension));
    const bool is_free = shorts[name] == 1 && !taken.contains(name) && !all.contains(name);
    if (!is_free) name = whole;
    if (taken.contains(whole) || ++taken[name] > 1) continue;
    names[extension] = std::move(name);
  }
  std::erase_if(names, [&](const auto& one) { return taken[one.second] > 1; });
  return names;
}

std::map<std::string, std::string> plain_fields_of_extensions(
    const std::vector<std::string>& extensions) {
  std::map<std::string, std::string> names;
  std::map<std::string, std::size_t> taken;
  for (const std::string& extension : extensions)
    ++taken[names[extension] = field_name_of(extension)];
  std::erase_if(names, [&](const auto& one) { return taken[one.second] > 1; });
  return names;
}

std::optional<std::size_t> field_of_extension(const Schema& schema, std::string_view extension) {
  if (const auto whole = schema.find(field_name_of(extension))) return whole;
  std::string_view name = short_name_of_part(extension);
  if (name.empty()) name = first_of_two(extension);
  return name.empty() ? std::nullopt : schema.find(field_name_of(name));
}

std::optional<ListMember> list_member(std::string_view extension) {
  constexpr std::size_t kFewestDigits = 5;
  constexpr std::string_view kDigits = "0123456789";
  const std::string_view name = extension.substr(0, extension.find('.'));
  const std::string_view rest = extension.substr(std::min(name.size() + 1, extension.size()));
  std::string of_all = fmt::format("{}.{}", name, kListExtension);
  if (name.empty()) return std::nullopt;
  if (rest == kListExtension) return ListMember{std::move(of_all), std::nullopt};
  const std::size_t digits = std::min(rest.find_first_not_of(kDigits), rest.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + digits, number);
  const bool is_element = error == std::errc() && digits >= kFewestDigits &&
                          rest.substr(digits).starts_with('.') &&
                          rest.find('.', digits + 1) == rest.npos;
  return is_element ? std::optional(ListMember{std::move(of_all), number}) : std::nullopt;
}

std::string renamed_text(const std::map<std::string, std::vector<std::string>>& extensions) {
  constexpr std::size_t kShown = 8;
  std::string text;
  std::size_t renamed = 0;
  for (const auto& [name, of] : extensions) {
    const bool is_as_written = of[0] == name || of[0] == fmt::format("{}.{}", name, kListExtension);
    if (of.size() == 1 && is_as_written) continue;
    if (++renamed > kShown) continue;
    text += fmt::format("{}{} <-", text.empty() ? "" : ", ", name);
    for (const std::string& extension : of) text += " ." + printable(extension);
  }
  if (renamed > kShown) text += fmt::format(", and {} more", renamed - kShown);
  return text;
}

std::optional<std::int64_t> number_in(std::string_view text) {
  text = trimmed(text);
  if (text.starts_with('+') && text.find('-') == text.npos) text.remove_prefix(1);
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end && !text.empty() ? std::optional(number)
                                                              : std::nullopt;
}

}  // namespace shale
