#include "shale/sums/message_digest.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace shale {
namespace {

using Words = std::array<std::uint32_t, 8>;

constexpr std::array<std::uint32_t, 64> kShaRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};
constexpr Words kShaBegin = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                             0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
constexpr Words kMd5Begin = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0, 0, 0, 0};

std::uint32_t word_at(const std::byte* at, std::endian order) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < sizeof word; ++i) {
    const std::size_t shift = 8 * (order == std::endian::big ? 3 - i : i);
    word |= std::to_integer<std::uint32_t>(at[i]) << shift;
  }
  return word;
}

// FIPS 180-4, 6.2.2.
void mix_sha256(Words& state, const std::byte* block) {
  std::array<std::uint32_t, 64> w;
  for (std::size_t t = 0; t < 16; ++t) w[t] = word_at(block + 4 * t, std::endian::big);
  for (std::size_t t = 16; t < 64; ++t) {
    const std::uint32_t near = w[t - 2], far = w[t - 15];
    w[t] = (std::rotr(near, 17) ^ std::rotr(near, 19) ^ (near >> 10U)) + w[t - 7] +
           (std::rotr(far, 7) ^ std::rotr(far, 18) ^ (far >> 3U)) + w[t - 16];
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; ++t) {
    const std::uint32_t one = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                              ((e & f) ^ (~e & g)) + kShaRounds[t] + w[t];
    const std::uint32_t two =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + one;
    d = c;
    c = b;
    b = a;
    a = one + two;
  }
  const Words mixed = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += mixed[i];
}

// RFC 1321, 3.4: floor(2^32 * abs(sin(i + 1))).
const std::array<std::uint32_t, 64>& sines() {
  static const std::array<std::uint32_t, 64> table = [] {
    std::array<std::uint32_t, 64> made{};
    for (std::size_t i = 0; i < made.size(); ++i)
      made[i] = static_cast<std::uint32_t>(
          std::floor(4294967296.0 * std::abs(std::sin(static_cast<double>(i + 1)))));
    return made;
  }();
  return table;
}

void mix_md5(Words& state, const std::byte* block) {
  constexpr int kShifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
  constexpr std::size_t kSteps[4] = {1, 5, 3, 7}, kBegins[4] = {0, 1, 5, 0};
  std::array<std::uint32_t, 16> words;
  for (std::size_t i = 0; i < words.size(); ++i)
    words[i] = word_at(block + 4 * i, std::endian::little);
  std::uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t round = i / 16;
    const std::uint32_t mixed = round == 0   ? (b & c) | (~b & d)
                                : round == 1 ? (d & b) | (~d & c)
                                : round == 2 ? b ^ c ^ d
                                             : c ^ (b | ~d);
    const std::uint32_t word = words[(kBegins[round] + kSteps[round] * (i % 16)) % 16];
    const std::uint32_t sum = a + mixed + sines()[i] + word;
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kShifts[round][i % 4]);
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}

}  // namespace

std::string_view name_of(DigestKind kind) { return kind == DigestKind::sha256 ? "sha256" : "md5"; }

std::size_t digits_of(DigestKind kind) { return kind == DigestKind::sha256 ? 64 : 32; }

MessageDigest::MessageDigest(DigestKind kind)
    : kind_(kind), state_(kind == DigestKind::sha256 ? kShaBegin : kMd5Begin) {}

void MessageDigest::mix(const std::byte* block) {
  kind_ == DigestKind::sha256 ? mix_sha256(state_, block) : mix_md5(state_, block);
}

void MessageDigest::update(Bytes bytes) {
  const std::size_t held = bytes_ % kBlock;
  bytes_ += bytes.size();
  if (held > 0) {
    const std::size_t taken = std::min(kBlock - held, bytes.size());
    std::memcpy(held_.data() + held, bytes.data(), taken);
    bytes = bytes.subspan(taken);
    if (held + taken < kBlock) return;
    mix(held_.data());
  }
  for (; bytes.size() >= kBlock; bytes = bytes.subspan(kBlock)) mix(bytes.data());
  if (!bytes.empty()) std::memcpy(held_.data(), bytes.data(), bytes.size());
}

std::string MessageDigest::hex() {
  const bool is_big = kind_ == DigestKind::sha256;
  const std::uint64_t bits = bytes_ * 8;
  std::array<std::byte, 2 * kBlock> end{std::byte{0x80}};
  const std::size_t held = bytes_ % kBlock;
  const std::size_t zeros = (held < 56 ? 56 : 120) - held;
  for (std::size_t i = 0; i < 8; ++i)
    end[zeros + i] = static_cast<std::byte>(bits >> (8 * (is_big ? 7 - i : i)));
  update(Bytes(end).first(zeros + 8));
  std::string text;
  for (std::size_t i = 0; i < digits_of(kind_) / 8; ++i) {
    const std::uint32_t word = state_[i];
    text += fmt::format("{:08x}", is_big ? word : __builtin_bswap32(word));
  }
  return text;
}

}  // namespace shale
