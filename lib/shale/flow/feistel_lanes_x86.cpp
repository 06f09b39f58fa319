//  avx2     four values in a register, four registers side by side; a product of 64 bits is put
//           together from three of 32
//  avx512   eight values in a register, four registers side by side, which have such a product
//  Both end with the values of through_scalar: whole numbers, modulo 2^64.

#include "shale/flow/permutation.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include "shale/flow/random_words.hpp"

namespace shale {
namespace {

constexpr std::size_t kRegisters = 4;

long long as_signed(std::uint64_t word) { return static_cast<long long>(word); }

__attribute__((target("avx2"))) inline __m256i times(__m256i x, __m256i factor,
                                                     __m256i high_factor) {
  const __m256i low = _mm256_mul_epu32(x, factor);
  const __m256i crossed = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), factor),
                                           _mm256_mul_epu32(x, high_factor));
  return _mm256_add_epi64(low, _mm256_slli_epi64(crossed, 32));
}

__attribute__((target("avx2"))) inline __m256i mixed(__m256i x) {
  const __m256i first = _mm256_set1_epi64x(as_signed(kMixFirst)),
                first_high = _mm256_set1_epi64x(as_signed(kMixFirst >> 32)),
                second = _mm256_set1_epi64x(as_signed(kMixSecond)),
                second_high = _mm256_set1_epi64x(as_signed(kMixSecond >> 32));
  x = times(_mm256_xor_si256(x, _mm256_srli_epi64(x, 30)), first, first_high);
  x = times(_mm256_xor_si256(x, _mm256_srli_epi64(x, 27)), second, second_high);
  return _mm256_xor_si256(x, _mm256_srli_epi64(x, 31));
}

template <bool kIsBackward>
__attribute__((target("avx2"))) void through_avx2(const FeistelNetwork& network,
                                                  std::span<std::uint64_t> values) {
  constexpr unsigned kRounds = FeistelNetwork::kRounds;
  constexpr std::size_t kLanes = 4;
  const __m256i mask = _mm256_set1_epi64x(as_signed(network.half_mask));
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(network.half_bits));
  for (std::size_t begin = 0; begin < values.size(); begin += kRegisters * kLanes) {
    auto* const place = reinterpret_cast<__m256i*>(values.data() + begin);
    __m256i high[kRegisters], low[kRegisters];
    for (std::size_t i = 0; i < kRegisters; ++i) {
      const __m256i value = _mm256_loadu_si256(place + i);
      high[i] = _mm256_srl_epi64(value, shift);
      low[i] = _mm256_and_si256(value, mask);
    }
    __m256i *const left = kIsBackward ? low : high, *const right = kIsBackward ? high : low;
    for (unsigned round = 0; round < kRounds; round += 2) {
      const __m256i key =
          _mm256_set1_epi64x(as_signed(network.keys[kIsBackward ? kRounds - 1 - round : round]));
      const __m256i next_key = _mm256_set1_epi64x(
          as_signed(network.keys[kIsBackward ? kRounds - 2 - round : round + 1]));
      for (std::size_t i = 0; i < kRegisters; ++i) {
        left[i] = _mm256_xor_si256(left[i],
                                   _mm256_and_si256(mixed(_mm256_add_epi64(right[i], key)), mask));
      }
      for (std::size_t i = 0; i < kRegisters; ++i) {
        right[i] = _mm256_xor_si256(
            right[i], _mm256_and_si256(mixed(_mm256_add_epi64(left[i], next_key)), mask));
      }
    }
    for (std::size_t i = 0; i < kRegisters; ++i)
      _mm256_storeu_si256(place + i, _mm256_or_si256(_mm256_sll_epi64(high[i], shift), low[i]));
  }
}

__attribute__((target("avx512f,avx512dq"))) inline __m512i mixed(__m512i x) {
  const __m512i first = _mm512_set1_epi64(as_signed(kMixFirst)),
                second = _mm512_set1_epi64(as_signed(kMixSecond));
  x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 30)), first);
  x = _mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 27)), second);
  return _mm512_xor_si512(x, _mm512_srli_epi64(x, 31));
}

template <bool kIsBackward>
__attribute__((target("avx512f,avx512dq"))) void through_avx512(const FeistelNetwork& network,
                                                                std::span<std::uint64_t> values) {
  constexpr unsigned kRounds = FeistelNetwork::kRounds;
  constexpr std::size_t kLanes = 8;
  const __m512i mask = _mm512_set1_epi64(as_signed(network.half_mask));
  const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(network.half_bits));
  for (std::size_t begin = 0; begin < values.size(); begin += kRegisters * kLanes) {
    std::uint64_t* const place = values.data() + begin;
    __m512i high[kRegisters], low[kRegisters];
    for (std::size_t i = 0; i < kRegisters; ++i) {
      const __m512i value = _mm512_loadu_si512(place + i * kLanes);
      high[i] = _mm512_srl_epi64(value, shift);
      low[i] = _mm512_and_si512(value, mask);
    }
    __m512i *const left = kIsBackward ? low : high, *const right = kIsBackward ? high : low;
    for (unsigned round = 0; round < kRounds; round += 2) {
      const __m512i key =
          _mm512_set1_epi64(as_signed(network.keys[kIsBackward ? kRounds - 1 - round : round]));
      const __m512i next_key =
          _mm512_set1_epi64(as_signed(network.keys[kIsBackward ? kRounds - 2 - round : round + 1]));
      for (std::size_t i = 0; i < kRegisters; ++i) {
        left[i] = _mm512_xor_si512(left[i],
                                   _mm512_and_si512(mixed(_mm512_add_epi64(right[i], key)), mask));
      }
      for (std::size_t i = 0; i < kRegisters; ++i) {
        right[i] = _mm512_xor_si512(
            right[i], _mm512_and_si512(mixed(_mm512_add_epi64(left[i], next_key)), mask));
      }
    }
    for (std::size_t i = 0; i < kRegisters; ++i) {
      _mm512_storeu_si512(place + i * kLanes,
                          _mm512_or_si512(_mm512_sll_epi64(high[i], shift), low[i]));
    }
  }
}

constexpr FeistelLanes kAvx2Lanes{.forward = through_avx2<false>, .backward = through_avx2<true>};
constexpr FeistelLanes kAvx512Lanes{.forward = through_avx512<false>,
                                    .backward = through_avx512<true>};

}  // namespace

const FeistelLanes& feistel_lanes_avx2() { return kAvx2Lanes; }
const FeistelLanes& feistel_lanes_avx512() { return kAvx512Lanes; }

}  // namespace shale

#endif
