#pragma once

#include <cstddef>
#include <memory>
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

/// SHA-256 or MD5 of bytes as they come, by libmd.
class MessageDigest {
 public:
  explicit MessageDigest(DigestKind kind);
  ~MessageDigest();
  MessageDigest(const MessageDigest&) = delete;
  MessageDigest& operator=(const MessageDigest&) = delete;
  void update(Bytes bytes);
  /// Of all bytes so far, in lower case. Nothing may be added afterwards.
  [[nodiscard]] std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shale
