#include "shale/wire/tar_reader.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "shale/base/printable.hpp"
#include "shale/base/size_text.hpp"

namespace shale {
namespace {

constexpr std::uint64_t kMostPaddingBytes = 1 << 30;

constexpr std::uint64_t kPaddingAtOnce = 64 * 1024;
constexpr std::size_t kNameAt = 0, kNameBytes = 100, kSizeAt = 124, kSizeBytes = 12,
                      kChecksumAt = 148, kChecksumBytes = 8, kTypeAt = 156, kTargetAt = 157,
                      kTargetBytes = 100, kMagicAt = 257, kPrefixAt = 345, kPrefixBytes = 155;
constexpr std::string_view kDamagedHint =
    "the archive was probably truncated or damaged in a copy; compare its checksum with that of "
    "the original, and copy it again";

std::string_view text_at(Bytes block, std::size_t at, std::size_t length) {
  const std::string_view field = as_text(block.subspan(at, length));
  return field.substr(0, field.find('\0'));
}

bool is_zero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

// Nullopt for what is not a number, or is negative, or too large.
std::optional<std::uint64_t> number_at(Bytes block, std::size_t at, std::size_t length) {
  const Bytes field = block.subspan(at, length);
  const auto first = std::to_integer<unsigned>(field.front());
  std::uint64_t value = 0;
  if ((first & 0x80U) != 0) {
    if ((first & 0x7FU) != 0) return std::nullopt;  // negative, or more than fits
    for (const std::byte byte : field.subspan(1)) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | std::to_integer<std::uint64_t>(byte);
    }
    return value;
  }
  std::string_view digits = as_text(field);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  digits = digits.substr(0, digits.find_first_of(std::string_view(" \0", 2)));
  if (digits.empty()) return 0;  // some leave out what is zero
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value, 8);
  if (error != std::errc() || stop != end || value >> 63 != 0) return std::nullopt;
  return value;
}

std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + kTarBlockBytes - 1) / kTarBlockBytes * kTarBlockBytes;
}

std::optional<std::uint64_t> decimal(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty() || value >> 63 != 0) return std::nullopt;
  return value;
}

Error malformed(std::string_view what, const std::string& where, std::uint64_t offset) {
  return Error(Code::damaged, "{}", what).at(where, offset).hint(kDamagedHint);
}

}  // namespace

bool is_tar_header(Bytes block) {
  if (block.size() < kTarBlockBytes) return false;
  const std::optional<std::uint64_t> expected = number_at(block, kChecksumAt, kChecksumBytes);
  if (!expected) return false;
  std::int64_t sum = 0, signed_sum = 0;
  for (std::size_t i = 0; i < kTarBlockBytes; ++i) {
    const bool is_checksum = i >= kChecksumAt && i < kChecksumAt + kChecksumBytes;
    const auto byte = is_checksum ? std::uint8_t{' '} : std::to_integer<std::uint8_t>(block[i]);
    sum += byte;
    signed_sum += static_cast<std::int8_t>(byte);
  }
  // A block of zeros has the sum of its blanks: it ends an archive, it does not begin a member.
  if (is_zero(block.subspan(0, kTarBlockBytes))) return false;
  return static_cast<std::int64_t>(*expected) == sum ||
         static_cast<std::int64_t>(*expected) == signed_sum;
}

TarReader::TarReader(std::uint64_t begin, std::uint64_t end, std::string where)
    : offset_(begin), end_(end), where_(std::move(where)), member_begin_(begin) {}

std::uint64_t TarReader::wanted() const {
  const std::uint64_t left = end_ - offset_;
  switch (state_) {
    case State::padding:
      return std::min(left, kPaddingAtOnce);
    case State::extension:
      return extension_bytes_;
    case State::header:
    case State::second_zeros:
      return std::min(left, kTarBlockBytes);
  }
  return 0;
}

std::optional<TarMember> TarReader::take(Bytes bytes) {
  if (bytes.size() != wanted()) throw Error(Code::bug, "not the bytes that were wanted");
  switch (state_) {
    case State::extension:
      take_extension(bytes);
      return std::nullopt;
    case State::padding:
      take_padding(bytes);
      return std::nullopt;
    case State::second_zeros:
      // GNU tar, bsdtar and Python's tarfile all end at the first one, whatever the second is. A
      // stream does not give it again: it is padding as what follows it.
      state_ = State::padding;
      take_padding(bytes);
      return std::nullopt;
    case State::header:
      break;
  }
  if (bytes.size() < kTarBlockBytes) {
    throw Error(Code::damaged, "header of {} bytes expected here, but the archive ends after {}",
                kTarBlockBytes, bytes.size())
        .at(where_, offset_)
        .hint(kDamagedHint);
  }
  if (is_zero(bytes)) {
    finish();
    offset_ += bytes.size();
    state_ = State::second_zeros;
    return std::nullopt;
  }
  return take_header(bytes);
}

void TarReader::finish() const {
  if (has_extension_)
    throw malformed("a header that describes the next member is the last one", where_,
                    member_begin_);
}

std::optional<TarMember> TarReader::take_header(Bytes block) {
  if (!is_tar_header(block))
    throw malformed("the header of a member is expected here, but its checksum does not match",
                    where_, offset_);
  if (!has_extension_) member_begin_ = offset_;
  const char type = static_cast<char>(block[kTypeAt]);
  const bool is_extension = type == 'x' || type == 'g' || type == 'X' || type == 'L' || type == 'K';
  if (!is_extension) {
    TarMember member = member_of(block, type);
    next_ = {};
    long_path_.reset();
    long_target_.reset();
    has_extension_ = false;
    if (type == 'V') return std::nullopt;
    return member;
  }
  const std::optional<std::uint64_t> bytes = number_at(block, kSizeAt, kSizeBytes);
  if (!bytes) throw malformed("size in the header is not a number", where_, offset_);
  if (*bytes > kMostTarExtensionBytes) {
    throw Error(Code::limit, "a name or PAX header takes {} bytes, more than {}", *bytes,
                kMostTarExtensionBytes)
        .at(where_, offset_)
        .hint(kDamagedHint);
  }
  const std::uint64_t data = offset_ + kTarBlockBytes;
  pass_data(*bytes, "");
  offset_ = data;
  extension_ = type;
  extension_bytes_ = *bytes;
  has_extension_ = has_extension_ || type != 'g';
  state_ = *bytes > 0 ? State::extension : State::header;
  return std::nullopt;
}

void TarReader::take_extension(Bytes data) {
  const std::string_view text = as_text(data);
  if (extension_ == 'L') {
    long_path_ = Text{std::string(text.substr(0, text.find('\0'))), offset_};
  } else if (extension_ == 'K') {
    long_target_ = Text{std::string(text.substr(0, text.find('\0'))), offset_};
  } else {
    take_pax(data, extension_ == 'g' ? global_ : next_);
  }
  offset_ = std::min(offset_ + padded(data.size()), end_);
  state_ = State::header;
}

void TarReader::take_pax(Bytes data, Overrides& into) const {
  std::string_view left = as_text(data);
  while (!left.empty()) {
    const std::uint64_t at = offset_ + data.size() - left.size();
    const std::size_t blank = left.find(' ');
    const std::optional<std::uint64_t> length =
        decimal(left.substr(0, std::min(blank, left.size())));
    if (blank == std::string_view::npos || !length || *length > left.size() ||
        *length < blank + 2 || left[*length - 1] != '\n')
      throw malformed("a line of a PAX header has a wrong length", where_, at);
    const std::string_view line = left.substr(blank + 1, *length - blank - 2);
    left.remove_prefix(*length);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos)
      throw malformed("a line of a PAX header has no '='", where_, at);
    const std::string_view key = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    // An empty value takes back what was said before.
    const auto set = [&](Override& to) {
      if (value.find('\0') != std::string_view::npos)
        throw malformed("a name in a PAX header holds a NUL", where_, at);
      to.reset();
      if (!value.empty()) to = Text{std::string(value), at + (*length - value.size() - 1)};
    };
    if (key == "path") set(into.path);
    if (key == "linkpath") set(into.target);
    if (key == "size") set(into.size);
    if (key.starts_with("GNU.sparse.")) into.is_sparse = true;
  }
}

void TarReader::take_padding(Bytes bytes) {
  const auto at =
      std::find_if(bytes.begin(), bytes.end(), [](std::byte byte) { return byte != std::byte{0}; });
  if (at == bytes.end()) {
    offset_ += bytes.size();
    padding_bytes_ += bytes.size();
    if (padding_bytes_ <= kMostPaddingBytes) return;
    // Such as /dev/zero: an empty archive whose padding never ends.
    throw Error(Code::unsupported, "more than {} of zeros follow the end of the archive",
                format_size(kMostPaddingBytes))
        .at(where_)
        .hint("send an archive, or the paths of files, one per line");
  }
  const auto first = static_cast<std::uint64_t>(at - bytes.begin());
  const std::uint64_t block = first / kTarBlockBytes * kTarBlockBytes;
  if (is_tar_header(bytes.subspan(block))) {
    throw Error(Code::unsupported, "another archive begins behind the end of this one")
        .at(where_, offset_ + block)
        .hint(
            "archives that were joined by cat end with the first for most tools: divide the file "
            "here, or join them with 'tar --concatenate'");
  }
  throw Error(Code::damaged, "a byte behind the end of the archive is not zero")
      .at(where_, offset_ + first)
      .hint("remove what was appended to the archive, or restore it from an intact copy");
}

void TarReader::refuse_odd_type(char type, const std::string& path) const {
  const std::string_view what =
      type == 'S' || next_.is_sparse || global_.is_sparse ? "is a sparse file"
      : type == 'M'                                       ? "continues a file of another volume"
      : type >= 'A' && type <= 'Z' && type != 'D' && type != 'V' ? "is of an unknown type"
                                                                 : "";
  if (what.empty()) return;
  const std::string name =
      type >= 'A' && type <= 'Z' && type != 'S' && type != 'M' ? fmt::format(", '{}'", type) : "";
  throw Error(Code::unsupported, "member {} {}{}, which is not supported", printable(path), what,
              name)
      .at(where_, member_begin_)
      .hint("unpack the archive with tar, and convert the folder");
}

TarMember TarReader::member_of(Bytes block, char type) {
  TarMember member;
  member.header = member_begin_;
  const bool has_prefix =
      text_at(block, kMagicAt, 6) == "ustar" && std::to_integer<char>(block[kMagicAt + 5]) == '\0';
  const std::string_view prefix = has_prefix ? text_at(block, kPrefixAt, kPrefixBytes) : "";
  member.path = prefix.empty() ? "" : std::string(prefix) + "/";
  member.path += text_at(block, kNameAt, kNameBytes);
  member.path_offset = prefix.empty() ? offset_ + kNameAt : kInTwoPieces;
  member.target = text_at(block, kTargetAt, kTargetBytes);
  for (const Override* path : {&global_.path, &long_path_, &next_.path}) {
    if (!*path) continue;
    member.path = (*path)->text;
    member.path_offset = (*path)->offset;
  }
  for (const Override* target : {&global_.target, &long_target_, &next_.target}) {
    if (*target) member.target = (*target)->text;
  }
  for (const std::string* text : {&member.path, &member.target}) {
    if (text->size() <= kMostTarPathBytes) continue;
    throw Error(Code::limit, "a name of {} bytes, more than {}", text->size(), kMostTarPathBytes)
        .at(where_, member_begin_)
        .hint(kDamagedHint);
  }
  refuse_odd_type(type, member.path);

  std::optional<std::uint64_t> bytes = number_at(block, kSizeAt, kSizeBytes);
  for (const Override* size : {&global_.size, &next_.size}) {
    if (*size) bytes = decimal((*size)->text);
  }
  if (!bytes)
    throw malformed(fmt::format("size of member {} is not a number", printable(member.path)),
                    where_, offset_);
  bool has_data = true;
  switch (type) {
    case '1':
    case '2':
      member.type = type == '1' ? TarMember::Type::hard_link : TarMember::Type::symbolic_link;
      has_data = false;
      break;
    case '3':
    case '4':
    case '6':
      member.type = TarMember::Type::special;
      has_data = false;
      break;
    case '5':
    case 'D':
      member.type = TarMember::Type::folder;
      has_data = type == 'D';  // a size is what the folder may hold
      break;
    default:
      if (member.path.ends_with('/')) member.type = TarMember::Type::folder;
      break;
  }
  pass_data(has_data ? *bytes : 0, member.path);
  member.offset = data_begin_;
  member.bytes = member.type == TarMember::Type::file ? *bytes : 0;
  return member;
}

void TarReader::pass_data(std::uint64_t bytes, const std::string& path) {
  data_begin_ = offset_ + kTarBlockBytes;
  data_bytes_ = bytes;
  data_path_ = path;
  const std::uint64_t left = end_ - data_begin_;
  if (bytes > left) throw data_end_early();
  // The padding of the last member may be missing.
  offset_ = data_begin_ + std::min(padded(bytes), left);
}

void TarReader::end_at(std::uint64_t end) {
  end_ = end;
  if (data_begin_ + data_bytes_ > end) throw data_end_early();
  offset_ = std::min(offset_, end);
}

Error TarReader::data_end_early() const {
  const std::string what = data_path_.empty() ? "a header" : "member " + printable(data_path_);
  return Error(Code::damaged, "{} has {}, but the archive ends after {} of them", what,
               format_counted(data_bytes_, "byte", "bytes"), end_ - std::min(end_, data_begin_))
      .at(where_, member_begin_)
      .hint(kDamagedHint);
}

}  // namespace shale
