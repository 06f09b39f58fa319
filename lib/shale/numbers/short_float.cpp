#include "shale/numbers/short_float.hpp"

#include <algorithm>
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

}  // namespace

const ShortFloat* short_float_named(std::string_view name) {
  const auto* const found = std::ranges::find(kForms, name, &ShortFloat::name);
  return found == std::end(kForms) ? nullptr : found;
}

std::uint32_t short_float_of(double number, const ShortFloat& form) {
  const Masks masks(form);
  const std::uint32_t sign = std::signbit(number) ? masks.sign : 0;
  const double size = std::fabs(number);
  if (std::isnan(number)) return masks.nan(form.specials, sign);
  std::uint32_t bits = masks.beyond(form.specials);
  if (const double most = std::ldexp(1.0, (1 << form.exponent_bits) - form.bias); size < most) {
    const int least = 1 - form.bias;
    const int exponent = size > 0 ? std::max(std::ilogb(size), least) : least;
    // The first digit of a normal number, and one that is rounded up to the next power of two,
    // carry into the exponent.
    const auto digits = static_cast<std::uint32_t>(
        std::nearbyint(std::scalbn(size, form.fraction_bits - exponent)));
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
    value = std::ldexp(static_cast<double>(digits),
                       std::max(exponent, 1) - form.bias - form.fraction_bits);
  }
  return (bits & masks.sign) != 0 ? -value : value;
}

}  // namespace shale
