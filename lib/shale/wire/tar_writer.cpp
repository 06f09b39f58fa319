#include "shale/wire/tar_writer.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include <fmt/format.h>

#include "shale/base/error.hpp"

namespace shale {
namespace {

constexpr std::size_t kWrittenSizeAt = 124, kWrittenSizeDigits = 11, kWrittenChecksumAt = 148,
                      kWrittenTypeAt = 156;
constexpr std::uint64_t kLargeFrom = std::uint64_t{1} << 33;  // what 11 octal digits do not hold
constexpr std::string_view kPaxName = "PaxHeader", kPathKey = "path", kSizeKey = "size";

std::string header_block(std::string_view name, char type, std::uint64_t bytes,
                         std::string_view target) {
  std::string block(kTarBlockBytes, '\0');
  const auto put = [&](std::size_t at, std::string_view text) {
    block.replace(at, text.size(), text);
  };
  put(0, name.substr(0, kTarNameBytes));
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(kWrittenSizeAt, fmt::format("{:011o}", bytes < kLargeFrom ? bytes : 0));
  put(136, "00000000000");
  put(kWrittenChecksumAt, "        ");
  block[kWrittenTypeAt] = type;
  put(kTarTargetAt, target);
  put(257, std::string_view("ustar\0"
                            "00",
                            8));
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<std::uint8_t>(c);
  put(kWrittenChecksumAt, fmt::format("{:06o}", sum));
  block[kWrittenChecksumAt + 6] = '\0';
  return block;
}

// "LENGTH KEY=VALUE\n", where LENGTH counts its own digits.
std::string pax_line(std::string_view key, std::string_view value) {
  const std::size_t rest = key.size() + value.size() + 3;
  std::size_t length = rest + 1;
  while (length != rest + fmt::formatted_size("{}", length)) ++length;
  return fmt::format("{} {}={}\n", length, key, value);
}

Error not_written_so(std::string_view what, std::uint64_t offset) {
  Error error(Code::damaged, "{}", what);
  error.at("", offset);
  return error;
}

// The lines of a PAX header that begins at `offset`.
void take_pax_lines(std::string_view text, std::uint64_t offset, WrittenTarFile& member) {
  bool has_size = false;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t length = 0;
    const char* const begin = text.data() + at;
    const auto [stop, error] = std::from_chars(begin, text.data() + text.size(), length);
    const auto digits = static_cast<std::size_t>(stop - begin);
    const bool is_line = error == std::errc() && length <= text.size() - at &&
                         length > digits + 1 && text[at + digits] == ' ' &&
                         text[at + length - 1] == '\n';
    if (!is_line) throw not_written_so("a line of a PAX header has a wrong length", offset + at);
    const std::string_view line = text.substr(at + digits + 1, length - digits - 2);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      throw not_written_so("a line of a PAX header has no '='", offset + at);
    const std::string_view key = line.substr(0, equals), value = line.substr(equals + 1);
    if (key == kPathKey) {
      member.file.path = value;
    } else if (key == kSizeKey && !has_size) {
      has_size = true;
      const auto parsed =
          std::from_chars(value.data(), value.data() + value.size(), member.file.bytes);
      if (parsed.ec != std::errc() || member.file.bytes < kLargeFrom)
        throw not_written_so("a size in a PAX header is not one", offset + at);
    } else {
      member.file.records.push_back({std::string(key), std::string(value)});
      member.values.push_back(offset + at + digits + 2 + equals);
    }
    at += length;
  }
}

std::string_view padded_text(Bytes block, std::size_t at, std::size_t length) {
  const std::string_view field = as_text(block).substr(at, length);
  return field.substr(0, field.find('\0'));
}

std::uint64_t written_size(Bytes block, std::uint64_t offset) {
  const std::string_view digits = as_text(block).substr(kWrittenSizeAt, kWrittenSizeDigits);
  std::uint64_t bytes = 0;
  const auto [stop, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), bytes, 8);
  if (error != std::errc() || stop != digits.data() + digits.size())
    throw not_written_so("a size in a header is not one", offset);
  return bytes;
}

Bytes header_at(const ViewBytes& view, std::uint64_t offset, std::uint64_t end) {
  if (offset > end || end - offset < kTarBlockBytes)
    throw not_written_so("the archive ends inside a header", std::min(offset, end));
  const Bytes block = view(offset, kTarBlockBytes);
  if (!is_tar_header(block))
    throw not_written_so("the header of a member has a wrong checksum", offset);
  return block;
}

}  // namespace

std::string tar_headers(const TarFile& file) {
  std::string lines;
  if (file.path.size() > kTarNameBytes) lines += pax_line(kPathKey, file.path);
  if (file.bytes >= kLargeFrom) lines += pax_line(kSizeKey, fmt::to_string(file.bytes));
  for (const PaxRecord& record : file.records) lines += pax_line(record.key, record.value);
  std::string headers;
  if (!lines.empty()) {
    headers = header_block(kPaxName, 'x', lines.size(), "") + lines;
    headers.append(tar_padding(lines.size()), '\0');
  }
  return headers + header_block(file.path, '0', file.bytes, file.target);
}

WrittenTarFile read_tar_headers(const ViewBytes& view, std::uint64_t offset, std::uint64_t end) {
  WrittenTarFile member;
  member.header = offset;
  Bytes block = header_at(view, offset, end);
  if (static_cast<char>(block[kWrittenTypeAt]) == 'x') {
    const std::uint64_t lines = written_size(block, offset), begin = offset + kTarBlockBytes;
    if (lines > kMostTarExtensionBytes || lines + tar_padding(lines) > end - begin)
      throw not_written_so("a PAX header is too long", offset);
    take_pax_lines(as_text(view(begin, lines)), begin, member);
    offset = begin + lines + tar_padding(lines);
    block = header_at(view, offset, end);
  }
  member.data = offset + kTarBlockBytes;
  member.target = offset + kTarTargetAt;
  if (member.file.path.empty()) member.file.path = padded_text(block, 0, kTarNameBytes);
  member.file.target = padded_text(block, kTarTargetAt, kTarNameBytes);
  if (member.file.bytes == 0) member.file.bytes = written_size(block, offset);
  const std::uint64_t left = end - member.data;
  if (member.file.bytes > left || tar_padding(member.file.bytes) > left - member.file.bytes)
    throw not_written_so("the data of a member are longer than the archive", member.header);

  const std::string expected = tar_headers(member.file);
  const std::string_view found = as_text(view(member.header, member.data - member.header));
  if (found != expected) {
    const auto place = std::ranges::mismatch(found, expected).in1 - found.begin();
    throw not_written_so("the header of a member is not as shale writes it",
                         member.header + static_cast<std::uint64_t>(place));
  }
  return member;
}

}  // namespace shale
