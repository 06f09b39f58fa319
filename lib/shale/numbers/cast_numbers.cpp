#include "shale/numbers/cast_numbers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/data/field_choice.hpp"
#include "shale/data/stored_tensor.hpp"
#include "shale/numbers/number_facts.hpp"
#include "shale/numbers/short_float.hpp"
#include "shale/numbers/time_text.hpp"

namespace shale {
namespace {

template <class T>
constexpr bool kIsNumber = std::is_arithmetic_v<T> || std::is_same_v<T, Half>;

__extension__ typedef __int128 Wide;

struct Boolean {
  std::uint8_t is_true;
};

Error no_cast() { return Error(Code::bug, "numbers are cast to what are none"); }

// A number of the other type, and whether it is the same.
template <class To>
struct Cast {
  To number;
  bool fits;
};

float float_of(double number) {
  // Half a unit above the largest float: what is below is rounded down to it.
  constexpr double kFirstInfinite = 0x1.ffffffp127, kMost = std::numeric_limits<float>::max();
  const double size = std::fabs(number);
  if (size <= kMost || std::isnan(number)) return static_cast<float>(number);
  const float most = size < kFirstInfinite ? std::numeric_limits<float>::max()
                                           : std::numeric_limits<float>::infinity();
  return std::signbit(number) ? -most : most;
}

// Of a double that is rounded to odd: one that is rounded again is rounded as if it were once.
// Source: S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded sums", 2008.
template <class From>
double odd_double(From number) {
  constexpr int kDigits = std::numeric_limits<double>::digits + 2;
  if constexpr (std::numeric_limits<From>::digits <= kDigits - 2) {
    return static_cast<double>(number);
  } else {
    const bool is_negative = std::cmp_less(number, 0);
    auto size = static_cast<std::uint64_t>(number);
    if (is_negative) size = 0 - size;
    const int beyond = std::max(0, static_cast<int>(std::bit_width(size)) - (kDigits - 2));
    std::uint64_t kept = size >> static_cast<unsigned>(beyond);
    if ((kept << static_cast<unsigned>(beyond)) != size) kept |= 1U;
    const double value = std::ldexp(static_cast<double>(kept), beyond);
    return is_negative ? -value : value;
  }
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
    const auto bits = static_cast<std::uint16_t>(short_float_of(odd_double(number), kHalf));
    return {{bits}, short_float_value(bits, kHalf) == odd_double(number)};
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
    const auto bits = static_cast<std::uint16_t>(short_float_of(number, kHalf));
    return {{bits}, std::isinf(short_float_value(bits, kHalf)) == std::isinf(number)};
  } else if constexpr (std::is_same_v<To, float>) {
    const float narrow = float_of(number);
    return {narrow, std::isinf(narrow) == std::isinf(number)};
  } else {
    return {number, true};
  }
}

template <class To, class From>
Cast<To> cast_one(From number) {
  if constexpr (std::is_integral_v<From>) {
    return cast_whole<To>(number);
  } else {
    return cast_real<To>(as_double(number));
  }
}

// `make`: of an element, what it becomes.
template <class From, class Make>
Unfit cast_each(Bytes numbers, std::span<std::byte> into, const Make& make) {
  Unfit unfit;
  for (std::size_t i = 0; i * sizeof(From) < numbers.size(); ++i) {
    const auto cast = make(number_at<From>(numbers.data() + i * sizeof(From)));
    std::memcpy(into.data() + i * sizeof(cast.number), &cast.number, sizeof(cast.number));
    if (!cast.fits && unfit.count++ == 0) unfit.first = i;
  }
  return unfit;
}

template <class From>
Unfit cast_from(Bytes numbers, NumberKind to, std::span<std::byte> into) {
  if (to == NumberKind::boolean)
    return cast_each<From>(numbers, into, [](From number) { return cast_one<Boolean>(number); });
  return with_element_of(to, [&](auto element) -> Unfit {
    using To = decltype(element);
    if constexpr (kIsNumber<To>)
      return cast_each<From>(numbers, into, [](From number) { return cast_one<To>(number); });
    throw no_cast();
  });
}

Unfit cast_kinds(NumberKind from, Bytes numbers, NumberKind to, std::span<std::byte> into) {
  return with_element_of(from, [&](auto element) -> Unfit {
    using From = decltype(element);
    if constexpr (kIsNumber<From>) return cast_from<From>(numbers, to, into);
    throw no_cast();
  });
}

template <class Bits>
Cast<Bits> cast_to_short(double number, bool is_whole, const ShortFloat& to) {
  const std::uint32_t bits = short_float_of(number, to);
  const double made = short_float_value(bits, to);
  const bool fits =
      is_whole ? made == number
               : std::isinf(made) == std::isinf(number) && std::isnan(made) == std::isnan(number);
  return {static_cast<Bits>(bits), fits};
}

template <class Bits>
Unfit cast_into_short(NumberKind from, Bytes numbers, const ShortFloat& to,
                      std::span<std::byte> into) {
  return with_element_of(from, [&](auto element) -> Unfit {
    using From = decltype(element);
    if constexpr (std::is_integral_v<From>)
      return cast_each<From>(numbers, into, [&](From number) {
        return cast_to_short<Bits>(odd_double(number), true, to);
      });
    if constexpr (kIsNumber<From> && !std::is_integral_v<From>)
      return cast_each<From>(numbers, into, [&](From number) {
        return cast_to_short<Bits>(as_double(number), false, to);
      });
    throw no_cast();
  });
}

// Where one of the two, or both, is a float that C++ has no type for.
Unfit cast_short(const DType& from, Bytes numbers, const DType& to, std::span<std::byte> into) {
  const ShortFloat* const before = short_float_named(raw_dtype_name(from.descr()));
  const ShortFloat* const after = short_float_named(raw_dtype_name(to.descr()));
  std::vector<double> values;
  NumberKind kind = number_kind_of(from.descr());
  if (before != nullptr) {
    for (std::size_t at = 0; at < numbers.size(); at += from.item_bytes()) {
      const std::uint32_t bits = from.item_bytes() == 1 ? number_at<std::uint8_t>(&numbers[at])
                                                        : number_at<std::uint16_t>(&numbers[at]);
      values.push_back(short_float_value(bits, *before));
    }
    numbers = std::as_bytes(std::span(values));
    kind = NumberKind::float64;
  }
  if (after == nullptr) return cast_kinds(kind, numbers, number_kind_of(to.descr()), into);
  return to.item_bytes() == 1 ? cast_into_short<std::uint8_t>(kind, numbers, *after, into)
                              : cast_into_short<std::uint16_t>(kind, numbers, *after, into);
}

template <class To, class From>
Unfit cast_complex(Bytes numbers, std::span<std::byte> into) {
  return cast_each<ComplexParts<From>>(numbers, into, [](const ComplexParts<From>& number) {
    const Cast<To> real = cast_one<To>(number.real), imaginary = cast_one<To>(number.imaginary);
    return Cast<ComplexParts<To>>{{real.number, imaginary.number}, real.fits && imaginary.fits};
  });
}

// Months, or attoseconds.
Wide length_of(const TimeUnit& unit) {
  struct Length {
    std::string_view name;
    Wide of_each;
  };
  constexpr Wide kSecond = 1'000'000'000'000'000'000;
  constexpr Length kLengths[] = {
      {"Y", 12},
      {"M", 1},
      {"W", 604'800 * kSecond},
      {"D", 86'400 * kSecond},
      {"h", 3'600 * kSecond},
      {"m", 60 * kSecond},
      {"s", kSecond},
      {"ms", kSecond / 1'000},
      {"us", kSecond / 1'000'000},
      {"ns", kSecond / 1'000'000'000},
      {"ps", 1'000'000},
      {"fs", 1'000},
      {"as", 1},
  };
  const auto* const found = std::ranges::find(kLengths, unit.name, &Length::name);
  if (found == std::end(kLengths)) throw no_cast();
  return found->of_each * unit.multiple;
}

Unfit cast_times(const DType& from, Bytes numbers, const DType& to, std::span<std::byte> into) {
  Wide times = length_of(unit_of_type(from.descr())), by = length_of(unit_of_type(to.descr()));
  Wide divisor = times;
  for (Wide rest = by; rest != 0;) divisor = std::exchange(rest, divisor % rest);
  times /= divisor;
  by /= divisor;
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  return cast_each<std::int64_t>(numbers, into, [&](std::int64_t count) -> Cast<std::int64_t> {
    if (count == kNotATime || count == 0) return {count, true};
    const auto most = count < 0 ? -kMost : kMost;
    if (times > kMost) return {static_cast<std::int64_t>(most), false};
    const Wide product = count * times;
    const Wide whole = product / by - (product % by < 0 ? 1 : 0);
    if (whole > kMost || whole < -kMost) return {static_cast<std::int64_t>(most), false};
    return {static_cast<std::int64_t>(whole), product % by == 0};
  });
}

}  // namespace

Unfit cast_numbers(const DType& from, Bytes numbers, const DType& to, std::span<std::byte> into) {
  if (!is_castable(from, to) || numbers.size() / from.item_bytes() != into.size() / to.item_bytes())
    throw Error(Code::bug, "what is cast is not as many numbers");
  if (!raw_dtype_name(from.descr()).empty() || !raw_dtype_name(to.descr()).empty())
    return cast_short(from, numbers, to, into);
  NumberKind before = number_kind_of(from.descr()), after = number_kind_of(to.descr());
  if (before == NumberKind::time && after == NumberKind::time)
    return cast_times(from, numbers, to, into);
  if (before == NumberKind::time) before = NumberKind::int64;
  if (after == NumberKind::time) after = NumberKind::int64;
  if (before == NumberKind::complex64 && after == NumberKind::complex128)
    return cast_complex<double, float>(numbers, into);
  if (before == NumberKind::complex128 && after == NumberKind::complex64)
    return cast_complex<float, double>(numbers, into);
  return cast_kinds(before, numbers, after, into);
}

std::string cast_number_words(const DType& dtype, const std::byte* at) {
  const ShortFloat* const form = short_float_named(raw_dtype_name(dtype.descr()));
  if (form == nullptr) return number_words(number_kind_of(dtype.descr()), dtype.descr(), at);
  const std::uint32_t bits =
      dtype.item_bytes() == 1 ? number_at<std::uint8_t>(at) : number_at<std::uint16_t>(at);
  return fmt::to_string(short_float_value(bits, *form));
}

}  // namespace shale
