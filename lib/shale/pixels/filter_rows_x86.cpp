//  down     two rows at a time: their bytes interleaved and widened to pairs of 16 bits, which one
//           multiply-add (pmaddwd) weighs and adds up in 32 bits
//  across   four or eight outputs at a time: pmaddwd of eight samples each, or of four where no
//           window has more, added up horizontally
//  Loops are by whole vectors: rows have kRowSlack samples more than they need.

#include "shale/pixels/filter_rows.hpp"

#if defined(__x86_64__)

#include <algorithm>

#include <immintrin.h>

namespace shale {
namespace {

int pair_of(std::int16_t first, std::int16_t second) {
  return static_cast<int>(static_cast<std::uint32_t>(static_cast<std::uint16_t>(first)) |
                          static_cast<std::uint32_t>(static_cast<std::uint16_t>(second)) << 16);
}

const __m128i* at128(const void* place) { return static_cast<const __m128i*>(place); }
const __m256i* at256(const void* place) { return static_cast<const __m256i*>(place); }

__attribute__((target("sse4.1"))) void down_sse41(const std::uint8_t* const* rows,
                                                  const std::int16_t* weights, std::size_t count,
                                                  std::size_t width, std::int16_t* into) {
  const __m128i zero = _mm_setzero_si128(), half = _mm_set1_epi32(1 << (kDownShift - 1));
  for (std::size_t x = 0; x < width; x += 16) {
    __m128i sum0 = half, sum1 = half, sum2 = half, sum3 = half;
    for (std::size_t i = 0; i < count; i += 2) {
      const bool has_two = i + 1 < count;
      const __m128i pair =
          _mm_set1_epi32(pair_of(weights[i], has_two ? weights[i + 1] : std::int16_t{0}));
      const __m128i first = _mm_loadu_si128(at128(rows[i] + x));
      const __m128i second = has_two ? _mm_loadu_si128(at128(rows[i + 1] + x)) : zero;
      const __m128i low = _mm_unpacklo_epi8(first, second);
      const __m128i high = _mm_unpackhi_epi8(first, second);
      // Bytes of two rows in turn; each pair of them becomes two 16-bit numbers.
      sum0 = _mm_add_epi32(sum0, _mm_madd_epi16(_mm_unpacklo_epi8(low, zero), pair));
      sum1 = _mm_add_epi32(sum1, _mm_madd_epi16(_mm_unpackhi_epi8(low, zero), pair));
      sum2 = _mm_add_epi32(sum2, _mm_madd_epi16(_mm_unpacklo_epi8(high, zero), pair));
      sum3 = _mm_add_epi32(sum3, _mm_madd_epi16(_mm_unpackhi_epi8(high, zero), pair));
    }
    const __m128i front =
        _mm_packs_epi32(_mm_srai_epi32(sum0, kDownShift), _mm_srai_epi32(sum1, kDownShift));
    const __m128i back =
        _mm_packs_epi32(_mm_srai_epi32(sum2, kDownShift), _mm_srai_epi32(sum3, kDownShift));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(into + x), front);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(into + x + 8), back);
  }
}

__attribute__((target("sse4.1"))) __m128i window_sum_sse41(const std::int16_t* row,
                                                           const std::int16_t* weights,
                                                           std::size_t count) {
  __m128i sum = _mm_setzero_si128();
  for (std::size_t k = 0; k < count; k += 8) {
    sum = _mm_add_epi32(
        sum, _mm_madd_epi16(_mm_loadu_si128(at128(row + k)), _mm_loadu_si128(at128(weights + k))));
  }
  return sum;
}

__attribute__((target("sse4.1"))) void across_sse41(const std::int16_t* row,
                                                    const FilterWindows& windows,
                                                    std::uint8_t* into) {
  const std::size_t outputs = windows.begin.size(), each = windows.weights_each;
  const __m128i half = _mm_set1_epi32(1 << (kAcrossShift - 1));
  __m128i sums[4] = {half, half, half, half};
  for (std::size_t i = 0; i < outputs; i += 4) {
    const std::size_t count = outputs - i < 4 ? outputs - i : 4;
    for (std::size_t k = 0; k < count; ++k) {
      sums[k] = window_sum_sse41(row + windows.begin[i + k],
                                 windows.weights.data() + (i + k) * each, windows.count[i + k]);
    }
    const __m128i four =
        _mm_hadd_epi32(_mm_hadd_epi32(sums[0], sums[1]), _mm_hadd_epi32(sums[2], sums[3]));
    const __m128i rounded = _mm_srai_epi32(_mm_add_epi32(four, half), kAcrossShift);
    const __m128i bytes = _mm_packus_epi16(_mm_packs_epi32(rounded, rounded), rounded);
    const int packed = _mm_cvtsi128_si32(bytes);
    __builtin_memcpy(into + i, &packed, count);
  }
}

__attribute__((target("avx2"))) void down_avx2(const std::uint8_t* const* rows,
                                               const std::int16_t* weights, std::size_t count,
                                               std::size_t width, std::int16_t* into) {
  const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi32(1 << (kDownShift - 1));
  for (std::size_t x = 0; x < width; x += 32) {
    __m256i sum0 = half, sum1 = half, sum2 = half, sum3 = half;
    for (std::size_t i = 0; i < count; i += 2) {
      const bool has_two = i + 1 < count;
      const __m256i pair =
          _mm256_set1_epi32(pair_of(weights[i], has_two ? weights[i + 1] : std::int16_t{0}));
      const __m256i first = _mm256_loadu_si256(at256(rows[i] + x));
      const __m256i second = has_two ? _mm256_loadu_si256(at256(rows[i + 1] + x)) : zero;
      const __m256i low = _mm256_unpacklo_epi8(first, second);
      const __m256i high = _mm256_unpackhi_epi8(first, second);
      sum0 = _mm256_add_epi32(sum0, _mm256_madd_epi16(_mm256_unpacklo_epi8(low, zero), pair));
      sum1 = _mm256_add_epi32(sum1, _mm256_madd_epi16(_mm256_unpackhi_epi8(low, zero), pair));
      sum2 = _mm256_add_epi32(sum2, _mm256_madd_epi16(_mm256_unpacklo_epi8(high, zero), pair));
      sum3 = _mm256_add_epi32(sum3, _mm256_madd_epi16(_mm256_unpackhi_epi8(high, zero), pair));
    }
    // Unpacking works within the halves of a vector: the lower ones hold samples 0..15.
    const __m256i front = _mm256_packs_epi32(_mm256_srai_epi32(sum0, kDownShift),
                                             _mm256_srai_epi32(sum1, kDownShift));
    const __m256i back = _mm256_packs_epi32(_mm256_srai_epi32(sum2, kDownShift),
                                            _mm256_srai_epi32(sum3, kDownShift));
    auto* const place = reinterpret_cast<__m256i*>(into + x);
    _mm256_storeu_si256(place, _mm256_permute2x128_si256(front, back, 0x20));
    _mm256_storeu_si256(place + 1, _mm256_permute2x128_si256(front, back, 0x31));
  }
}

// Outputs i and i + 4 in the halves of a vector.
__attribute__((target("avx2"))) inline __m256i two_sums_avx2(const std::int16_t* row,
                                                             const FilterWindows& windows,
                                                             std::size_t i) {
  const std::size_t each = windows.weights_each;
  const std::int16_t* const lower = row + windows.begin[i];
  const std::int16_t* const upper = row + windows.begin[i + 4];
  const std::int16_t* const weights = windows.weights.data() + i * each;
  const std::size_t count =
      windows.count[i] > windows.count[i + 4] ? windows.count[i] : windows.count[i + 4];
  __m256i sum = _mm256_setzero_si256();
  for (std::size_t k = 0; k < count; k += 8) {
    const __m256i samples = _mm256_loadu2_m128i(at128(upper + k), at128(lower + k));
    const __m256i both = _mm256_loadu2_m128i(at128(weights + 4 * each + k), at128(weights + k));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(samples, both));
  }
  return sum;
}

__attribute__((target("avx2"))) inline __m128i two_fours(const std::int16_t* first,
                                                         const std::int16_t* second) {
  return _mm_unpacklo_epi64(_mm_loadl_epi64(at128(first)), _mm_loadl_epi64(at128(second)));
}

// Of windows of at most four samples: outputs i and i + 1, and in the upper half i + 4 and i + 5,
// as two sums each.
__attribute__((target("avx2"))) inline __m256i small_sums_avx2(const std::int16_t* row,
                                                               const FilterWindows& windows,
                                                               std::size_t i) {
  const std::size_t each = windows.weights_each;
  const std::uint32_t* const begin = windows.begin.data() + i;
  const std::int16_t* const weights = windows.weights.data() + i * each;
  const __m256i samples = _mm256_set_m128i(two_fours(row + begin[4], row + begin[5]),
                                           two_fours(row + begin[0], row + begin[1]));
  const __m256i both = _mm256_set_m128i(two_fours(weights + 4 * each, weights + 5 * each),
                                        two_fours(weights, weights + each));
  return _mm256_madd_epi16(samples, both);
}

__attribute__((target("avx2"))) void across_avx2(const std::int16_t* row,
                                                 const FilterWindows& windows, std::uint8_t* into) {
  const std::size_t outputs = windows.begin.size(), each = windows.weights_each;
  const __m256i half = _mm256_set1_epi32(1 << (kAcrossShift - 1));
  const bool are_small =
      std::ranges::all_of(windows.count, [](std::uint32_t count) { return count <= 4; });
  std::size_t i = 0;
  for (; i + 8 <= outputs; i += 8) {
    __m256i eight;
    if (are_small) {
      eight =
          _mm256_hadd_epi32(small_sums_avx2(row, windows, i), small_sums_avx2(row, windows, i + 2));
    } else {
      const __m256i sum01 =
          _mm256_hadd_epi32(two_sums_avx2(row, windows, i), two_sums_avx2(row, windows, i + 1));
      const __m256i sum23 =
          _mm256_hadd_epi32(two_sums_avx2(row, windows, i + 2), two_sums_avx2(row, windows, i + 3));
      eight = _mm256_hadd_epi32(sum01, sum23);
    }
    const __m256i rounded = _mm256_srai_epi32(_mm256_add_epi32(eight, half), kAcrossShift);
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(rounded), _mm256_extracti128_si256(rounded, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(into + i), _mm_packus_epi16(words, words));
  }
  for (; i < outputs; ++i) {
    int sum = 1 << (kAcrossShift - 1);
    for (std::size_t k = 0; k < windows.count[i]; ++k) {
      sum += row[windows.begin[i] + k] * windows.weights[i * each + k];
    }
    sum >>= kAcrossShift;
    into[i] = static_cast<std::uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
  }
}

constexpr FilterRows kSse41 = {down_sse41, across_sse41};
constexpr FilterRows kAvx2 = {down_avx2, across_avx2};

}  // namespace

const FilterRows& filter_rows_sse41() { return kSse41; }
const FilterRows& filter_rows_avx2() { return kAvx2; }

}  // namespace shale

#else

namespace shale {
const FilterRows& filter_rows_sse41() { return filter_rows(SimdLevel::scalar); }
const FilterRows& filter_rows_avx2() { return filter_rows(SimdLevel::scalar); }
}  // namespace shale

#endif
