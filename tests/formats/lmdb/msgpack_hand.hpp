#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// MessagePack by hand: what other writers than shale put into LMDB values.

namespace shale::test {

inline std::string big_endian(std::uint64_t value, unsigned bytes) {
  std::string text;
  for (unsigned i = bytes; i-- > 0;) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}
inline std::string mp_bin(std::string_view bytes) {
  if (bytes.size() < 256) return "\xc4" + big_endian(bytes.size(), 1) + std::string(bytes);
  return "\xc6" + big_endian(bytes.size(), 4) + std::string(bytes);
}
inline std::string mp_str(std::string_view text) {
  if (text.size() < 32) return static_cast<char>(0xa0 + text.size()) + std::string(text);
  return "\xdb" + big_endian(text.size(), 4) + std::string(text);
}
inline std::string mp_int(std::int64_t value) {
  if (value >= 0 && value < 128) return std::string(1, static_cast<char>(value));
  return "\xd3" + big_endian(static_cast<std::uint64_t>(value), 8);
}
inline std::string mp_real(double value) {
  return "\xcb" + big_endian(std::bit_cast<std::uint64_t>(value), 8);
}
inline std::string mp_float32(float value) {
  return "\xca" + big_endian(std::bit_cast<std::uint32_t>(value), 4);
}
inline std::string mp_array(const std::vector<std::string>& elements) {
  std::string bytes = "\xdc" + big_endian(elements.size(), 2);
  for (const std::string& element : elements) bytes += element;
  return bytes;
}
/// Values are encoded already; names are text.
inline std::string mp_map(const std::vector<std::pair<std::string, std::string>>& entries) {
  std::string bytes(1, static_cast<char>(0x80 + entries.size()));
  for (const auto& [name, value] : entries) bytes += mp_str(name) + value;
  return bytes;
}
inline std::string mp_tensor(std::string_view dtype, const std::vector<std::int64_t>& shape,
                             std::string_view data) {
  std::vector<std::string> sides;
  for (const std::int64_t side : shape) sides.push_back(mp_int(side));
  return mp_map({{"dtype", mp_str(dtype)}, {"shape", mp_array(sides)}, {"data", mp_bin(data)}});
}

}  // namespace shale::test
