#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "shale/base/bytes.hpp"

// The digests of the lists that come with downloads. Neither proves more here than that a file is
// the one that the list was made of.

namespace shale {

enum class DigestKind { sha256, md5 };
/// "sha256", "md5".
[[nodiscard]] std::string_view name_of(DigestKind kind);
/// Hex digits of one.
[[nodiscard]] std::size_t digits_of(DigestKind kind);

/// SHA-256 or MD5 of bytes as they come.
/// Source: FIPS 180-4, RFC 1321; checked against Python's hashlib (tests/unit/sums).
class MessageDigest {
 public:
  explicit MessageDigest(DigestKind kind);
  void update(Bytes bytes);
  /// Of all bytes so far, in lower case. Nothing may be added afterwards.
  [[nodiscard]] std::string hex();

 private:
  static constexpr std::size_t kBlock = 64;
  void mix(const std::byte* block);

  DigestKind kind_;
  std::array<std::uint32_t, 8> state_{};
  std::array<std::byte, kBlock> held_{};
  std::uint64_t bytes_ = 0;
};

}  // namespace shale
