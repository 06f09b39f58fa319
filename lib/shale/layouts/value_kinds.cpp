#include "shale/layouts/value_kinds.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "shale/base/printable.hpp"
#include "shale/base/shell_word.hpp"
#include "shale/data/field_name.hpp"
#include "shale/data/schema.hpp"
#include "shale/format/key_pattern.hpp"

namespace shale::layouts {
namespace {

constexpr std::string_view kImages = "images", kArrays = ".npy files", kTexts = "texts",
                           kZips = "files of torch.save or other zip archives",
                           kPickles = "pickles", kOthers = "other bytes";
constexpr std::size_t kMostSuffixes = 8;

std::string_view kind_of(std::string_view head, std::uint64_t bytes) {
  const bool is_webp = head.starts_with("RIFF") && head.substr(0, 12).ends_with("WEBP");
  if (head.starts_with("\xff\xd8\xff") || head.starts_with("\x89PNG\r\n\x1a\n") || is_webp)
    return kImages;
  if (head.starts_with("\x93NUMPY")) return kArrays;
  if (head.starts_with("PK\x03\x04")) return kZips;
  if (head.size() > 2 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) return kPickles;
  const bool is_text = head.size() == bytes && !head.empty() && is_utf8(head) &&
                       head.find('\0') == std::string_view::npos;
  return is_text ? kTexts : kOthers;
}

// In a pattern of keys, and in a shell.
bool is_plain(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '.' || byte == '_';
}

// Whether all of it are numbers of a size that is usual in data: not denormal, and not beyond
// 10^12.
template <class Number>
bool are_usual_numbers(std::string_view head, std::uint64_t bytes) {
  constexpr Number kLeast = static_cast<Number>(1e-12), kMost = static_cast<Number>(1e12);
  if (bytes % sizeof(Number) != 0) return false;
  for (std::size_t at = 0; at + sizeof(Number) <= head.size(); at += sizeof(Number)) {
    Number number{};
    std::memcpy(&number, head.data() + at, sizeof number);
    if constexpr (std::is_floating_point_v<Number>) {
      const Number size = std::abs(number);
      if (!(number == 0 || (size >= kLeast && size <= kMost))) return false;
    } else if (number < -kMost || number > kMost) {
      return false;
    }
  }
  return true;
}

// The bytes that a value begins with which say how many follow, little-endian: 4 or 8; 0: none do.
std::size_t length_bytes_in(std::string_view head, std::uint64_t bytes) {
  const auto begins = [&](auto length) {
    if (head.size() < sizeof length) return false;
    std::memcpy(&length, head.data(), sizeof length);
    return bytes - sizeof length == length;
  };
  if (begins(std::uint32_t{})) return sizeof(std::uint32_t);
  return begins(std::uint64_t{}) ? sizeof(std::uint64_t) : 0;
}

}  // namespace

void ValueKinds::learn_bytes(std::string_view head, std::uint64_t bytes) {
  const std::size_t prefix = length_bytes_in(head, bytes);
  if (!length_) length_bytes_ = prefix;
  if (length_bytes_ != prefix) length_bytes_ = 0;
  have_one_length_ = have_one_length_ && length_.value_or(bytes) == bytes;
  length_ = length_.value_or(bytes);
  may_be_float32_ = may_be_float32_ && are_usual_numbers<float>(head, bytes);
  may_be_float64_ = may_be_float64_ && are_usual_numbers<double>(head, bytes);
  may_be_int64_ = may_be_int64_ && are_usual_numbers<std::int64_t>(head, bytes);
}

// Of values that are none of the known kinds.
std::string ValueKinds::note_on_others(std::string_view path) const {
  if (length_bytes_ > 0) {
    return fmt::format(
        "the values begin with their own length, in {} bytes, and stay whole; 'shale cat {} 0 | "
        "tail "
        "-c +{} > 0.bin' writes what follows it in the first",
        length_bytes_, path, length_bytes_ + 1);
  }
  const std::string_view dtype = may_be_int64_     ? "int64"
                                 : may_be_float32_ ? "float32"
                                 : may_be_float64_ ? "float64"
                                                   : "";
  if (dtype.empty() || length_.value_or(0) == 0) return {};
  const std::uint64_t item = dtype == "float32" ? sizeof(float) : sizeof(double);
  const std::string rows = have_one_length_
                               ? fmt::format("have {} bytes each, as rows of {} {} have", *length_,
                                             *length_ / item, dtype)
                               : fmt::format("may be rows of {} of different lengths", dtype);
  return fmt::format(
      "the values {}; if they are, 'shale convert {} OUT --to record --parse "
      "\"value:{}={{key}}\"' makes arrays of them",
      rows, path, dtype);
}

void ValueKinds::add(std::string_view key, std::string_view head, std::uint64_t bytes) {
  ++values_;
  const std::string_view kind = kind_of(head, bytes);
  ++kinds_[std::string(kind)];
  if (kind == kOthers) learn_bytes(head, bytes);
  const std::size_t dot = key.rfind('.');
  const bool has_suffix = dot != std::string_view::npos && dot > 0 && dot + 1 < key.size() &&
                          std::ranges::all_of(key.substr(dot), is_plain);
  have_suffixes_ = have_suffixes_ && has_suffix;
  if (!have_suffixes_) return;
  Suffix& suffix = suffixes_[std::string(key.substr(dot))];
  have_suffixes_ = suffixes_.size() <= kMostSuffixes;
  ++suffix.keys;
  suffix.are_images = suffix.are_images && kind == kImages;
  suffix.are_integers = suffix.are_integers && head.size() == bytes && count_in(head);
}

// Of samples with an entry for each suffix; empty: they are none.
std::string ValueKinds::pattern() const {
  if (!have_suffixes_ || suffixes_.size() < 2) return {};
  std::string images, others;
  std::vector<std::string> names;
  for (const auto& [suffix, facts] : suffixes_) {
    // The last sample that was looked at may have lost some.
    const std::uint64_t keys = suffixes_.begin()->second.keys;
    if (std::max(keys, facts.keys) - std::min(keys, facts.keys) > 1) return {};
    std::string name = field_name_of(suffix.substr(1));
    if (facts.are_images) name = "image";
    if (facts.are_integers && suffix == ".cls") name = "label";
    if (std::ranges::find(names, name) != names.end()) return {};
    names.push_back(name);
    (facts.are_images ? images : others) +=
        fmt::format(", {}{}={{key}}{}", name, facts.are_integers ? ":integer" : "", suffix);
  }
  return (images + others).substr(2);
}

std::string ValueKinds::note(std::string_view file) const {
  const std::string path = shell_word(file);
  if (const std::string keys = pattern(); !keys.empty()) {
    return fmt::format(
        "the keys end in {} suffixes; 'shale convert {} OUT --to record --parse \"{}\"' makes a "
        "sample "
        "of the entries that differ in nothing else",
        suffixes_.size(), path, keys);
  }
  const auto all_are = [&](std::string_view kind) {
    return kinds_.size() == 1 && kinds_.begin()->first == kind;
  };
  if (all_are(kArrays))
    return fmt::format(
        "the values are .npy files, which stay whole; 'shale cat {} 0 > 0.npy' writes the first",
        path);
  if (all_are(kZips))
    return fmt::format(
        "the values are files of torch.save or other zip archives, which stay whole; 'shale cat {} "
        "0 > 0.pt' writes the first",
        path);
  if (all_are(kTexts))
    return fmt::format(
        "the values are texts; 'shale convert {} OUT --to record --parse \"value:text={{key}}\"' "
        "makes text of them",
        path);
  if (all_are(kOthers)) return note_on_others(path);
  if (kinds_.size() < 2) return {};
  std::string counts;
  for (const auto& [kind, count] : kinds_)
    counts += fmt::format("{}{}: {}", counts.empty() ? "" : ", ", kind, count);
  return fmt::format("the values are of several kinds ({}{}): each is taken as it is, as bytes",
                     values_ == kMost ? "in the first 1000, " : "", counts);
}

}  // namespace shale::layouts
