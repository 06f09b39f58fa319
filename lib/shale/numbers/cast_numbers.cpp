#include "shale/numbers/cast_numbers.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "shale/base/error.hpp"

namespace shale {
namespace {

template <class T>
constexpr bool kIsNumber = std::is_arithmetic_v<T> || std::is_same_v<T, Half>;

struct Boolean {
  std::uint8_t is_true;
};

// A number of the other type, and whether it is the same.
template <class To>
struct Cast {
  To number;
  bool fits;
};

// Rounded half to even, as the processor does it. Of a double, so that it is rounded once.
Half half_of(double number) {
  constexpr double kLeastNormal = 0x1p-14, kFirstInfinite = 65520;
  constexpr std::uint32_t kInfinite = 0x7c00, kNaN = 0x7e00, kBias = 15, kFraction = 1024;
  const std::uint32_t sign = std::signbit(number) ? 0x8000 : 0;
  const double size = std::fabs(number);
  std::uint32_t bits = 0;
  if (std::isnan(number)) {
    bits = kNaN;
  } else if (size >= kFirstInfinite) {
    bits = kInfinite;
  } else if (size < kLeastNormal) {
    bits = static_cast<std::uint32_t>(std::nearbyint(size * 0x1p24));
  } else {
    const int exponent = std::ilogb(size);
    const auto fraction =
        static_cast<std::uint32_t>(std::nearbyint(std::scalbn(size, 10 - exponent)));
    // One that is rounded up to the next power of two carries into the exponent.
    bits = ((static_cast<std::uint32_t>(exponent) + kBias) << 10U) + fraction - kFraction;
  }
  return {static_cast<std::uint16_t>(sign | bits)};
}

float float_of(double number) {
  // Half a unit above the largest float: what is below is rounded down to it.
  constexpr double kFirstInfinite = 0x1.ffffffp127, kMost = std::numeric_limits<float>::max();
  const double size = std::fabs(number);
  if (size <= kMost || std::isnan(number)) return static_cast<float>(number);
  const float most = size < kFirstInfinite ? std::numeric_limits<float>::max()
                                           : std::numeric_limits<float>::infinity();
  return std::signbit(number) ? -most : most;
}

// Whether all its digits are held by so many bits.
template <class From>
bool has_digits(From number, int digits) {
  using Size = std::make_unsigned_t<From>;
  const auto size = std::cmp_less(number, 0)
                        ? static_cast<Size>(Size{0} - static_cast<Size>(number))
                        : static_cast<Size>(number);
  return size == 0 || static_cast<int>(std::bit_width(size)) - std::countr_zero(size) <= digits;
}

template <class To, class From>
Cast<To> cast_whole(From number) {
  if constexpr (std::is_same_v<To, Boolean>) {
    return {{number != 0}, number == 0 || number == 1};
  } else if constexpr (std::is_integral_v<To>) {
    if (std::in_range<To>(number)) return {static_cast<To>(number), true};
    return {
        std::cmp_less(number, 0) ? std::numeric_limits<To>::min() : std::numeric_limits<To>::max(),
        false};
  } else if constexpr (std::is_same_v<To, Half>) {
    const Half half = half_of(static_cast<double>(number));
    return {half, half_to_double(half.bits) == static_cast<double>(number) &&
                      has_digits(number, std::numeric_limits<double>::digits)};
  } else {
    return {static_cast<To>(number), has_digits(number, std::numeric_limits<To>::digits)};
  }
}

template <class To>
Cast<To> cast_real(double number) {
  if constexpr (std::is_same_v<To, Boolean>) {
    return {{number < 0 || number > 0}, number == 0 || number == 1};
  } else if constexpr (std::is_integral_v<To>) {
    constexpr double kLeast = static_cast<double>(std::numeric_limits<To>::min());
    const double end = std::ldexp(1.0, std::numeric_limits<To>::digits);  // the first behind
    if (std::isnan(number)) return {To{0}, false};
    const double whole = std::trunc(number);
    if (whole < kLeast) return {std::numeric_limits<To>::min(), false};
    if (whole >= end) return {std::numeric_limits<To>::max(), false};
    return {static_cast<To>(whole), whole == number};
  } else if constexpr (std::is_same_v<To, Half>) {
    const Half half = half_of(number);
    return {half, std::isinf(half_to_double(half.bits)) == std::isinf(number)};
  } else if constexpr (std::is_same_v<To, float>) {
    const float narrow = float_of(number);
    return {narrow, std::isinf(narrow) == std::isinf(number)};
  } else {
    return {number, true};
  }
}

template <class To, class From>
Unfit cast_all(Bytes numbers, std::span<std::byte> into) {
  Unfit unfit;
  for (std::size_t i = 0; i * sizeof(From) < numbers.size(); ++i) {
    const auto number = number_at<From>(numbers.data() + i * sizeof(From));
    Cast<To> cast;
    if constexpr (std::is_integral_v<From>) {
      cast = cast_whole<To>(number);
    } else {
      cast = cast_real<To>(as_double(number));
    }
    std::memcpy(into.data() + i * sizeof(To), &cast.number, sizeof(To));
    if (!cast.fits && unfit.count++ == 0) unfit.first = i;
  }
  return unfit;
}

template <class From>
Unfit cast_from(Bytes numbers, NumberKind to, std::span<std::byte> into) {
  if (to == NumberKind::boolean) return cast_all<Boolean, From>(numbers, into);
  return with_element_of(to, [&](auto element) -> Unfit {
    using To = decltype(element);
    if constexpr (kIsNumber<To>) return cast_all<To, From>(numbers, into);
    throw Error(Code::bug, "numbers are cast to what are none");
  });
}

}  // namespace

Unfit cast_numbers(NumberKind from, Bytes numbers, NumberKind to, std::span<std::byte> into) {
  if (!may_be_cast(from) || !may_be_cast(to) ||
      numbers.size() / bytes_of_number(from) != into.size() / bytes_of_number(to))
    throw Error(Code::bug, "what is cast is not as many numbers");
  return with_element_of(from, [&](auto element) -> Unfit {
    using From = decltype(element);
    if constexpr (kIsNumber<From>) return cast_from<From>(numbers, to, into);
    return {};
  });
}

}  // namespace shale
