#include "shale/sums/sum_list.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"
#include "shale/io/input_file.hpp"

namespace shale {
namespace {

struct SumLine {
  std::string digest, name;
};

constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";

bool is_digest_length(std::size_t digits) {
  constexpr std::size_t kLengths[] = {32, 40, 56, 64, 96, 128};
  return std::ranges::find(kLengths, digits) != std::end(kLengths);
}

// Nullopt for an escape that there is not.
std::optional<std::string> without_escapes(std::string_view name) {
  std::string plain;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name[i] != '\\') {
      plain += name[i];
      continue;
    }
    const char next = ++i < name.size() ? name[i] : '\0';
    if (next != '\\' && next != 'n' && next != 'r') return std::nullopt;
    plain += next == 'n' ? '\n' : next == 'r' ? '\r' : '\\';
  }
  return plain;
}

// `ends_in_nul`: lines do, and names have no escapes.
std::optional<SumLine> parsed(std::string_view line, bool ends_in_nul) {
  const bool has_escapes = !ends_in_nul && line.starts_with('\\');
  if (has_escapes) line.remove_prefix(1);
  std::string_view digest, name;
  const std::size_t digits = std::min(line.find_first_not_of(kHexDigits), line.size());
  if (is_digest_length(digits) && line.size() > digits + 2 && line[digits] == ' ' &&
      (line[digits + 1] == ' ' || line[digits + 1] == '*')) {
    digest = line.substr(0, digits);
    name = line.substr(digits + 2);
  } else {
    constexpr std::string_view kEnd = ") = ";
    const std::size_t begin = line.find(" ("), end = line.rfind(kEnd);
    if (begin == line.npos || end == line.npos || end <= begin + 2) return std::nullopt;
    digest = line.substr(end + kEnd.size());
    name = line.substr(begin + 2, end - begin - 2);
    const bool is_digest =
        is_digest_length(digest.size()) && digest.find_first_not_of(kHexDigits) == digest.npos;
    if (!is_digest) return std::nullopt;
  }
  std::optional<std::string> plain =
      has_escapes ? without_escapes(name) : std::optional<std::string>(name);
  if (!plain) return std::nullopt;
  while (plain->starts_with("./")) plain->erase(0, 2);
  SumLine sum{std::string(digest), *std::move(plain)};
  std::ranges::transform(sum.digest, sum.digest.begin(),
                         [](unsigned char digit) { return std::tolower(digit); });
  return sum;
}

std::string_view without_mark(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  return text.substr(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

// Neither empty nor a comment.
std::string first_line(std::string_view text) {
  text = without_mark(text);
  while (text.starts_with('#') || text.starts_with('\n') || text.starts_with('\r'))
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  return std::string(text.substr(0, text.find_first_of(std::string_view("\r\n\0", 3))));
}

// SHA256SUMS, md5sums.txt, photos.sha256.
bool has_name_of_list(std::string_view path) {
  std::string name(path.substr(path.rfind('/') + 1));
  std::ranges::transform(name, name.begin(),
                         [](unsigned char letter) { return std::tolower(letter); });
  return name.find("sums") != name.npos || name.ends_with(".sha256") || name.ends_with(".md5");
}

DigestKind kind_of(std::size_t digits, const std::string& path) {
  for (const DigestKind kind : {DigestKind::sha256, DigestKind::md5})
    if (digits_of(kind) == digits) return kind;
  throw Error(Code::unsupported, "is a list of checksums of {} bits: SHA-256 and MD5 are compared",
              4 * digits)
      .at(path)
      .hint(fmt::format("check it with 'sha{}sum -c'{}", digits == 40 ? 1 : 4 * digits,
                        digits == 128 ? ", or with 'b2sum -c' if that made it" : ""));
}

}  // namespace

std::optional<SumList> read_sum_list(const std::string& path, std::uint64_t most_bytes) {
  constexpr std::uint64_t kMostLine = 64 << 10;
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  const InputFile file(path);
  std::string text(std::min(file.size(), kMostLine), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(text)));
  const std::string first = first_line(text);
  const bool ends_in_nul = text.find('\0') != text.npos;  // sha256sum --zero
  if (!parsed(first, ends_in_nul)) {
    if (!has_name_of_list(path)) return std::nullopt;
    throw Error(Code::bad_content, "is not a list of checksums as sha256sum or md5sum writes it")
        .at(path)
        .hint("each line is a digest, two blanks and the name of a file, in UTF-8");
  }
  if (file.size() > most_bytes) {
    throw Error(Code::limit, "its checksums take {}, and half of the memory is {}",
                format_size(file.size()), format_size(most_bytes))
        .at(path)
        .hint("pass a larger --memory");
  }
  text.resize(file.size());
  file.read_exact(0, std::as_writable_bytes(std::span(text)));
  SumList list{.kind = kind_of(parsed(first, ends_in_nul)->digest.size(), path)};
  std::uint64_t number = 0;
  for (std::string_view left = without_mark(text); !left.empty();) {
    ++number;
    std::string_view line = left.substr(0, left.find(ends_in_nul ? '\0' : '\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (!ends_in_nul && line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    std::optional<SumLine> sum = parsed(line, ends_in_nul);
    if (!sum || sum->digest.size() != digits_of(list.kind))
      throw Error(Code::damaged, "line {} is not one of a list of {} checksums", number,
                  name_of(list.kind))
          .at(path);
    const auto [known, is_new] = list.digest_of.emplace(sum->name, sum->digest);
    if (!is_new && known->second != sum->digest)
      throw Error(Code::damaged, "line {} has another digest for '{}' than an earlier one", number,
                  printable(sum->name))
          .at(path);
  }
  return list;
}

std::string prefix_outside(const SumList& list) {
  std::optional<std::string> common;
  for (const auto& [name, digest] : list.digest_of) {
    if (!name.starts_with('/') && !name.starts_with("../")) return {};
    std::string folder = name.substr(0, name.rfind('/') + 1);
    if (!common) common = folder;
    while (!folder.starts_with(*common)) common->resize(common->rfind('/', common->size() - 2) + 1);
  }
  return common.value_or("");
}

std::string sum_line(std::string_view digest, std::string_view name) {
  if (name.find_first_of("\\\n\r") == name.npos) return fmt::format("{}  {}\n", digest, name);
  std::string escaped;
  for (const char byte : name) {
    if (byte == '\\') escaped += "\\\\";
    if (byte == '\n') escaped += "\\n";
    if (byte == '\r') escaped += "\\r";
    if (byte != '\\' && byte != '\n' && byte != '\r') escaped += byte;
  }
  return fmt::format("\\{}  {}\n", digest, escaped);
}

}  // namespace shale
