#include "shale/base/checksum.hpp"

#include <isa-l/crc.h>
// libxxhash itself is built for SSE2 (12 GB/s on an AMD EPYC, 2024); the dispatcher picks AVX2 or
// AVX-512 at run time (37 GB/s). Its header renames XXH3_64bits, XXH3_128bits and
// XXH3_128bits_update by macro, so that the calls below are the same everywhere; reset and digest
// have no variants. Builds of the library without dispatcher do not install it.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

#include <algorithm>
#include <bit>
#include <new>

namespace shale {
namespace {

// Polynomials over GF(2) of degree below 32, reflected as crc32c is: bit 31 is 1, bit 0 is x^31.
constexpr std::uint32_t kOne = 0x80000000, kX = 0x40000000;
constexpr std::uint32_t kPolynomial = 0x82F63B78;  // Castagnoli's, less its x^32

constexpr std::uint32_t multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (; a != 0; a <<= 1) {
    product ^= b & (0U - (a >> 31));
    b = b >> 1 ^ (kPolynomial & (0U - (b & 1)));  // b times x
  }
  return product;
}

// kByteShift[k][d] = x^(8 d 16^k): what d 16^k more bytes multiply a checksum by.
using ByteShift = std::array<std::array<std::uint32_t, 16>, 16>;
constexpr ByteShift make_byte_shift() {
  ByteShift table{};
  std::uint32_t step = kX;
  for (int i = 0; i < 3; ++i) step = multiply(step, step);  // x^8
  for (auto& digit : table) {
    digit[0] = kOne;
    for (std::size_t d = 1; d < digit.size(); ++d) digit[d] = multiply(digit[d - 1], step);
    step = multiply(digit.back(), step);
  }
  return table;
}
constexpr ByteShift kByteShift = make_byte_shift();

Hash128 to_hash(XXH128_hash_t hash) { return {hash.high64, hash.low64}; }

std::optional<std::uint64_t> hex_number(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char digit : digits) {
    const std::size_t nibble = std::string_view("0123456789abcdef").find(digit);
    if (nibble == std::string_view::npos) return std::nullopt;
    value = value << 4 | nibble;
  }
  return value;
}

}  // namespace

std::uint32_t crc32c(Bytes bytes, std::uint32_t seed) {
  // crc32_iscsi inverts neither its start nor its result, and takes the length as int.
  constexpr std::size_t kMost = std::size_t{1} << 30;
  std::uint32_t state = ~seed;
  while (!bytes.empty()) {
    const Bytes run = bytes.first(std::min(bytes.size(), kMost));
    // It takes a non-const pointer and only reads.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<std::byte*>(run.data()));
    state = ::crc32_iscsi(data, static_cast<int>(run.size()), state);
    bytes = bytes.subspan(run.size());
  }
  return ~state;
}

std::uint32_t crc32c_combine(std::uint32_t first, std::uint32_t second,
                             std::uint64_t second_length) {
  for (const auto& digit : kByteShift) {
    if (second_length == 0) break;
    if ((second_length & 15) != 0) first = multiply(digit[second_length & 15], first);
    second_length >>= 4;
  }
  return first ^ second;
}

std::uint32_t crc32(Bytes bytes, std::uint32_t seed) {
  return ::crc32_gzip_refl(seed, reinterpret_cast<const unsigned char*>(bytes.data()),
                           bytes.size());
}

std::string Hash128::hex() const {
  std::string text;
  text.reserve(32);
  for (const std::uint64_t half : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[half >> shift & 15];
  }
  return text;
}

std::array<std::byte, 16> Hash128::bytes() const {
  std::array<std::byte, 16> canonical{};
  for (std::size_t i = 0; i < 8; ++i) {
    canonical[i] = static_cast<std::byte>(high >> (56 - 8 * i));
    canonical[8 + i] = static_cast<std::byte>(low >> (56 - 8 * i));
  }
  return canonical;
}

std::optional<Hash128> Hash128::from_hex(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  const std::optional<std::uint64_t> high = hex_number(text.substr(0, 16));
  const std::optional<std::uint64_t> low = hex_number(text.substr(16));
  if (!high || !low) return std::nullopt;
  return Hash128{*high, *low};
}

Hash128 Hash128::from_bytes(std::span<const std::byte, 16> bytes) {
  Hash128 hash;
  for (std::size_t i = 0; i < 8; ++i) {
    hash.high = hash.high << 8 | std::to_integer<std::uint64_t>(bytes[i]);
    hash.low = hash.low << 8 | std::to_integer<std::uint64_t>(bytes[8 + i]);
  }
  return hash;
}

Hash128 xxh3_128(Bytes bytes) { return to_hash(XXH3_128bits(bytes.data(), bytes.size())); }

std::uint64_t xxh3_64(Bytes bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

// The state's size is not part of the shared library's promise, so the library makes it.
struct Hasher128::State {
  State() : xxh(XXH3_createState()) {
    if (xxh == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(xxh);
  }
  ~State() { XXH3_freeState(xxh); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  XXH3_state_t* xxh;
};

Hasher128::Hasher128() : state_(std::make_unique<State>()) {}
Hasher128::~Hasher128() = default;
Hasher128::Hasher128(Hasher128&&) noexcept = default;
Hasher128& Hasher128::operator=(Hasher128&&) noexcept = default;

void Hasher128::update(Bytes bytes) {
  if (!bytes.empty()) XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

Hash128 Hasher128::digest() const { return to_hash(XXH3_128bits_digest(state_->xxh)); }

void Hasher128::reset() { XXH3_128bits_reset(state_->xxh); }

}  // namespace shale
