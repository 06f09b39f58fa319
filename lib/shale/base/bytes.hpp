#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace shale {

static_assert(std::endian::native == std::endian::little,
              "shale's on-disk integers are little-endian");

using Bytes = std::span<const std::byte>;

[[nodiscard]] inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
[[nodiscard]] inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
/// The bytes of one integer or float as they lie in memory (little-endian).
template <class T>
requires std::is_trivially_copyable_v<T>
[[nodiscard]] Bytes bytes_of(const T& value) {
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

/// A number as bytes that sort as the numbers do.
template <std::integral T>
void append_big_endian(std::string& into, T value) {
  for (std::size_t shift = 8 * sizeof(T); shift > 0;) {
    shift -= 8;
    into += static_cast<char>(static_cast<std::uint64_t>(value) >> shift);
  }
}
/// At most 8 bytes.
[[nodiscard]] constexpr std::uint64_t read_big_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char byte : bytes) value = value << 8 | static_cast<std::uint8_t>(byte);
  return value;
}

/// Reads integers and runs of bytes out of untrusted memory; never past its end.
/// `where` names what is read (a file's path) and `base` is the offset of bytes[0] in it: both go
/// into the errors. The bytes are borrowed.
/// Errors: Code::damaged, with file and offset, when fewer bytes are left than requested.
class ByteReader {
 public:
  explicit ByteReader(Bytes bytes, std::string_view where = {}, std::uint64_t base = 0)
      : bytes_(bytes), where_(where), base_(base) {}

  [[nodiscard]] std::uint64_t remaining() const { return bytes_.size() - position_; }
  [[nodiscard]] bool at_end() const { return remaining() == 0; }
  /// The file offset of the next byte.
  [[nodiscard]] std::uint64_t offset() const { return base_ + position_; }

  std::uint8_t read_u8() { return read<std::uint8_t>(); }
  std::uint16_t read_u16() { return read<std::uint16_t>(); }
  std::uint32_t read_u32() { return read<std::uint32_t>(); }
  std::uint64_t read_u64() { return read<std::uint64_t>(); }
  std::int64_t read_i64() { return read<std::int64_t>(); }
  double read_f64() { return read<double>(); }
  std::uint16_t read_u16_be() {
    const unsigned high = read_u8();  // a statement of its own: the operands of | have no order
    return static_cast<std::uint16_t>(high << 8 | read_u8());
  }
  std::uint32_t read_u32_be() {
    const std::uint32_t high = read_u16_be();
    return high << 16 | read_u16_be();
  }
  /// A base-128 varint of at most 64 bits (protobuf's).
  /// Errors: Code::damaged for one that is longer.
  std::uint64_t read_varint();
  Bytes read_bytes(std::uint64_t count);
  void skip(std::uint64_t count) { (void)read_bytes(count); }

 private:
  template <class T>
  T read() {
    T value;
    std::memcpy(&value, read_bytes(sizeof(T)).data(), sizeof(T));
    return value;
  }

  Bytes bytes_;
  std::string_view where_;
  std::uint64_t base_;
  std::uint64_t position_ = 0;
};

template <class T>
concept Number = std::integral<T> || std::floating_point<T>;

/// Grows a run of bytes, little-endian.
class ByteWriter {
 public:
  template <Number T>
  void write(T value) {
    write_bytes(bytes_of(value));
  }
  void write_bytes(Bytes bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  void write_text(std::string_view text) { write_bytes(as_bytes(text)); }
  void write_varint(std::uint64_t value);

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }
  void clear() { bytes_.clear(); }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace shale
