#include "shale/numbers/short_float.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

namespace shale {
namespace {

using Specials = ShortFloat::Specials;

constexpr ShortFloat kForms[] = {
    {"bfloat16", 8, 7, 127},
    {"float8_e5m2", 5, 2, 15},
    {"float8_e4m3", 4, 3, 7},
    {"float8_e3m4", 3, 4, 3},
    {"float8_e4m3fn", 4, 3, 7, Specials::finite},
    {"float8_e5m2fnuz", 5, 2, 16, Specials::unsigned_zero},
    {"float8_e4m3fnuz", 4, 3, 8, Specials::unsigned_zero},
    {"float8_e4m3b11fnuz", 4, 3, 11, Specials::unsigned_zero},
};

// The bits of its parts, in place.
struct Masks {
  std::uint32_t sign, exponent, fraction;

  explicit Masks(const ShortFloat& form)
      : sign(1U << static_cast<unsigned>(form.exponent_bits + form.fraction_bits)),
        exponent(sign - (1U << static_cast<unsigned>(form.fraction_bits))),
        fraction((1U << static_cast<unsigned>(form.fraction_bits)) - 1) {}

  [[nodiscard]] std::uint32_t nan(Specials specials, std::uint32_t with_sign) const {
    if (specials == Specials::unsigned_zero) return sign;
    if (specials == Specials::finite) return with_sign | (sign - 1);
    return with_sign | exponent | (fraction + 1) / 2;
  }
  // The first size that is not a number any more.
  [[nodiscard]] std::uint32_t beyond(Specials specials) const {
    if (specials == Specials::unsigned_zero) return sign;
    return specials == Specials::finite ? sign - 1 : exponent;
  }
};

// A double that is not negative: digits times 2 to the power of (exponent - kFraction). libm's
// functions for this cost ten times the rest.
struct Double {
  static constexpr int kFraction = 52, kBias = 1023;
  int exponent;
  std::uint64_t digits;

  explicit Double(double size) {
    const auto bits = std::bit_cast<std::uint64_t>(size);
    const auto stored = static_cast<int>(bits >> static_cast<unsigned>(kFraction));
    constexpr std::uint64_t kFirst = std::uint64_t{1} << static_cast<unsigned>(kFraction);
    exponent = std::max(stored, 1) - kBias;
    digits = (bits & (kFirst - 1)) + (stored > 0 ? kFirst : 0);
  }
};

// Half to even.
std::uint64_t rounded_shift(std::uint64_t digits, int by) {
  if (by > Double::kFraction + 2) return 0;
  const std::uint64_t half = std::uint64_t{1} << static_cast<unsigned>(by - 1);
  const std::uint64_t whole = digits >> static_cast<unsigned>(by), rest = digits & (2 * half - 1);
  return whole + (rest > half || (rest == half && whole % 2 == 1) ? 1 : 0);
}

// For exponents of normal doubles.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + Double::kBias)
                               << static_cast<unsigned>(Double::kFraction));
}

}  // namespace

const ShortFloat* short_float_named(std::string_view name) {
  const auto* const found = std::ranges::find(kForms, name, &ShortFloat::name);
  return found == std::end(kForms) ? nullptr : found;
}

std::uint32_t short_float_of(double number, const ShortFloat& form) {
  const Masks masks(form);
  const std::uint32_t sign = std::signbit(number) ? masks.sign : 0;
  if (std::isnan(number)) return masks.nan(form.specials, sign);
  // The first digit of a normal number, and one that is rounded up to the next power of two, carry
  // into the exponent.
  const Double size(std::fabs(number));
  const int least = 1 - form.bias, exponent = std::max(size.exponent, least);
  std::uint32_t bits = masks.beyond(form.specials);
  if (exponent < (1 << form.exponent_bits) - form.bias) {
    const auto digits = static_cast<std::uint32_t>(rounded_shift(
        size.digits, Double::kFraction - form.fraction_bits + exponent - size.exponent));
    bits = std::min(bits, (static_cast<std::uint32_t>(exponent - least)
                           << static_cast<unsigned>(form.fraction_bits)) +
                              digits);
  }
  if (bits == masks.beyond(form.specials))
    return form.specials == Specials::ieee ? sign | bits : masks.nan(form.specials, sign);
  if (bits == 0 && form.specials == Specials::unsigned_zero) return 0;
  return sign | bits;
}

double short_float_value(std::uint32_t bits, const ShortFloat& form) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  const Masks masks(form);
  const std::uint32_t size = bits & ~masks.sign;
  double value = 0;
  if (form.specials == Specials::unsigned_zero && bits == masks.sign) {
    return std::numeric_limits<double>::quiet_NaN();
  } else if (size >= masks.beyond(form.specials) && form.specials != Specials::unsigned_zero) {
    const bool is_infinite = form.specials == Specials::ieee && size == masks.exponent;
    value = is_infinite ? kInfinite : std::numeric_limits<double>::quiet_NaN();
  } else {
    const auto exponent = static_cast<int>(size >> static_cast<unsigned>(form.fraction_bits));
    const std::uint32_t digits = (size & masks.fraction) + (exponent > 0 ? masks.fraction + 1 : 0);
    value = static_cast<double>(digits) *
            power_of_two(std::max(exponent, 1) - form.bias - form.fraction_bits);
  }
  return (bits & masks.sign) != 0 ? -value : value;
}

}  // namespace shale
