#include "shale/manifest/text_decoder.hpp"

#include <algorithm>
#include <span>

#include "shale/base/printable.hpp"

// Source: The Unicode Standard, sections 3.9 and 3.10.

namespace shale {
namespace {

constexpr std::uint32_t kFirstHalf = 0xD800, kSecondHalf = 0xDC00, kBehindHalves = 0xE000;

}  // namespace

TextDecoder::TextDecoder(const InputFile& file) : path_(file.path()) {
  std::string head(std::min<std::uint64_t>(file.size(), 3), '\0');
  file.read_exact(0, std::as_writable_bytes(std::span(head)));
  if (head.starts_with("\xFF\xFE")) form_ = Form::little_endian;
  if (head.starts_with("\xFE\xFF")) form_ = Form::big_endian;
  begin_ = is_utf16() ? 2 : head == "\xEF\xBB\xBF" ? 3 : 0;
}

Error TextDecoder::not_utf16() const {
  Error error(Code::bad_content, "begins with the byte order mark of UTF-16, but is not UTF-16");
  error.at(path_).hint("save it as 'CSV UTF-8'");
  return error;
}

void TextDecoder::add_unit(std::uint32_t unit) {
  const bool is_second = unit >= kSecondHalf && unit < kBehindHalves;
  if (is_second != (surrogate_ != 0)) throw not_utf16();
  if (is_second) {
    append_utf8(text_, 0x10000 + ((surrogate_ - kFirstHalf) << 10U) + (unit - kSecondHalf));
    surrogate_ = 0;
  } else if (unit >= kFirstHalf && unit < kSecondHalf) {
    surrogate_ = unit;
  } else {
    append_utf8(text_, unit);
  }
}

std::string_view TextDecoder::decode(std::string_view bytes) {
  if (!is_utf16()) return bytes;
  text_.clear();
  for (const char byte : bytes) {
    left_ += byte;
    if (left_.size() < 2) continue;
    const auto first = static_cast<std::uint8_t>(left_[0]);
    const auto second = static_cast<std::uint8_t>(left_[1]);
    add_unit(form_ == Form::little_endian ? first + (std::uint32_t{second} << 8U)
                                          : second + (std::uint32_t{first} << 8U));
    left_.clear();
  }
  return text_;
}

void TextDecoder::finish() const {
  if (!left_.empty() || surrogate_ != 0) throw not_utf16();
}

}  // namespace shale
