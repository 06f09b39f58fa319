#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <variant>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"

namespace shale {

/// Bytes that are too many to be held: they stay where they are, and are read in pieces whenever
/// they are wanted. One thread at a time.
class UnreadBytes {
 public:
  static constexpr std::uint64_t kPieceBytes = 1 << 20;

  /// `crc32c`: what the bytes must have, if that is known.
  explicit UnreadBytes(std::uint64_t bytes, std::optional<std::uint32_t> crc32c = {})
      : bytes_(bytes), crc32c_(crc32c) {}
  virtual ~UnreadBytes() = default;
  UnreadBytes(const UnreadBytes&) = delete;
  UnreadBytes& operator=(const UnreadBytes&) = delete;

  [[nodiscard]] std::uint64_t size() const { return bytes_; }
  /// Reads all bytes, in order, and hands them out in pieces of at most kPieceBytes, each valid
  /// during its call. Once it returns, they had the crc32c that is known, or that the first reading
  /// found. Errors: wrong_checksum(); what reading and `use` throw.
  void for_each_piece(const std::function<void(Bytes)>& use) const;
  /// Of all bytes; they are read for it if it is not known. Errors: same as for_each_piece.
  [[nodiscard]] std::uint32_t crc32c() const;
  /// Fills `into` from `offset`; nothing is proved. Errors: what reading throws.
  virtual void read(std::uint64_t offset, std::span<std::byte> into) const = 0;

 protected:
  /// Hands out all bytes, as for_each_piece does, unproved.
  virtual void read_all(const std::function<void(Bytes)>& use) const;
  /// The error for bytes that are not those that were written, or were read before.
  [[nodiscard]] virtual Error wrong_checksum(std::uint32_t found, std::uint32_t expected) const = 0;

 private:
  std::uint64_t bytes_;
  mutable std::optional<std::uint32_t> crc32c_;
};

using Unread = std::shared_ptr<const UnreadBytes>;

/// A run of bytes, in memory or not.
class AnyBytes {
 public:
  AnyBytes(Bytes held) : bytes_(held) {}                  // NOLINT(google-explicit-constructor)
  AnyBytes(Unread unread) : bytes_(std::move(unread)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] std::uint64_t size() const;
  [[nodiscard]] std::uint32_t crc32c() const;
  /// Null if they are in memory.
  [[nodiscard]] const Unread* unread() const { return std::get_if<Unread>(&bytes_); }
  /// Where they are not in memory, nothing.
  [[nodiscard]] Bytes held() const;
  /// All of them, in order.
  template <class Use>
  void for_each_piece(const Use& use) const {
    if (const Unread* unread_bytes = unread()) return (*unread_bytes)->for_each_piece(use);
    use(*std::get_if<Bytes>(&bytes_));
  }

 private:
  std::variant<Bytes, Unread> bytes_;
};

/// Bytes that nothing has to read: their number is all that is asked for.
class BytesOfSize final : public UnreadBytes {
 public:
  explicit BytesOfSize(std::uint64_t bytes) : UnreadBytes(bytes, 0) {}
  void read(std::uint64_t offset, std::span<std::byte> into) const override;

 protected:
  [[nodiscard]] Error wrong_checksum(std::uint32_t found, std::uint32_t expected) const override;
};

}  // namespace shale
