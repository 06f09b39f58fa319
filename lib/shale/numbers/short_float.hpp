#pragma once

#include <cstdint>
#include <string_view>

namespace shale {

/// A binary float of at most 16 bits: a sign, an exponent, a fraction, from the highest bit on.
struct ShortFloat {
  /// What its bits mean besides numbers: those of IEEE 754; NaN where all bits but the sign are
  /// set, and no infinity; NaN in place of -0, and no infinity.
  enum class Specials : std::uint8_t { ieee, finite, unsigned_zero };
  std::string_view name;  ///< as ml_dtypes has it
  int exponent_bits = 0, fraction_bits = 0, bias = 0;
  Specials specials = Specials::ieee;
};
inline constexpr ShortFloat kHalf = {"float16", 5, 10, 15};

/// "bfloat16", "float8_e4m3fn" ...; null for any other name.
[[nodiscard]] const ShortFloat* short_float_named(std::string_view name);

/// The bits of a number, rounded half to even. What is too large becomes infinite, or NaN where
/// there is no infinity.
[[nodiscard]] std::uint32_t short_float_of(double number, const ShortFloat& form);
/// The number of bits, exactly.
[[nodiscard]] double short_float_value(std::uint32_t bits, const ShortFloat& form);

}  // namespace shale
