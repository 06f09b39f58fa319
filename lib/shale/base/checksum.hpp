#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "shale/base/bytes.hpp"

namespace shale {

/// CRC-32C (Castagnoli, reflected 0x82F63B78) of `bytes`, or of what gave `seed` followed by
/// `bytes`. crc32c of "123456789" is 0xe3069283.
/// Source: RFC 3720 appendix B.4; computed by isa-l.
[[nodiscard]] std::uint32_t crc32c(Bytes bytes, std::uint32_t seed = 0);

/// crc32c of A followed by B, from crc32c(A), crc32c(B) and B's length; O(log length).
[[nodiscard]] std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second,
                                           std::uint64_t second_length);

/// CRC-32 of zip and gzip (reflected 0xEDB88320) of `bytes`, or of what gave `seed` followed by
/// `bytes`. crc32 of "123456789" is 0xcbf43926.
/// Source: RFC 1952 section 8; computed by isa-l.
[[nodiscard]] std::uint32_t crc32(Bytes bytes, std::uint32_t seed = 0);

/// A 128-bit hash as a number. Text and bytes are its canonical form: big-endian, lower-case hex,
/// as xxhsum prints it.
struct Hash128 {
  std::uint64_t high = 0, low = 0;

  friend bool operator==(const Hash128&, const Hash128&) = default;
  /// 32 lower-case digits.
  [[nodiscard]] std::string hex() const;
  /// What Python's xxhash.xxh3_128_digest returns.
  [[nodiscard]] std::array<std::byte, 16> bytes() const;
  /// Nullopt for anything but 32 lower-case digits.
  [[nodiscard]] static std::optional<Hash128> from_hex(std::string_view text);
  [[nodiscard]] static Hash128 from_bytes(std::span<const std::byte, 16> bytes);
};

/// XXH3 of `bytes`, seed 0. Source: xxHash 0.8 specification; computed by libxxhash.
[[nodiscard]] Hash128 xxh3_128(Bytes bytes);
[[nodiscard]] std::uint64_t xxh3_64(Bytes bytes);

/// xxh3_128 of bytes that come piece by piece.
class Hasher128 {
 public:
  Hasher128();
  ~Hasher128();
  Hasher128(Hasher128&&) noexcept;
  Hasher128& operator=(Hasher128&&) noexcept;

  void update(Bytes bytes);
  /// The hash of all bytes so far; more may follow.
  [[nodiscard]] Hash128 digest() const;
  void reset();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shale
