#include "shale/sums/message_digest.hpp"

#include <array>
#include <cstdint>

#include <fmt/format.h>
#include <md5.h>
#include <sha2.h>

namespace shale {
namespace {

constexpr std::size_t kSha256Bytes = 32, kMd5Bytes = 16;

}  // namespace

std::string_view name_of(DigestKind kind) { return kind == DigestKind::sha256 ? "sha256" : "md5"; }

std::size_t digits_of(DigestKind kind) {
  return 2 * (kind == DigestKind::sha256 ? kSha256Bytes : kMd5Bytes);
}

struct MessageDigest::State {
  DigestKind kind;
  SHA2_CTX sha256;
  MD5_CTX md5;
};

MessageDigest::MessageDigest(DigestKind kind) : state_(std::make_unique<State>()) {
  state_->kind = kind;
  kind == DigestKind::sha256 ? SHA256Init(&state_->sha256) : MD5Init(&state_->md5);
}

MessageDigest::~MessageDigest() = default;

void MessageDigest::update(Bytes bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (state_->kind == DigestKind::sha256)
    SHA256Update(&state_->sha256, data, bytes.size());
  else
    MD5Update(&state_->md5, data, bytes.size());
}

std::string MessageDigest::hex() {
  std::array<std::uint8_t, kSha256Bytes> digest{};
  if (state_->kind == DigestKind::sha256)
    SHA256Final(digest.data(), &state_->sha256);
  else
    MD5Final(digest.data(), &state_->md5);
  std::string text;
  for (std::size_t i = 0; i < digits_of(state_->kind) / 2; ++i)
    text += fmt::format("{:02x}", digest[i]);
  return text;
}

}  // namespace shale
