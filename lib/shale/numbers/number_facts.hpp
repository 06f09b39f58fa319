#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/data/dtype.hpp"
#include "shale/numbers/bins.hpp"
#include "shale/numbers/time_text.hpp"

namespace shale {

/// An integer of any of NumPy's types, exactly.
struct WholeNumber {
  bool is_negative = false;
  std::uint64_t magnitude = 0;

  /// Any integer, or a double that is one and is within +-2^53.
  template <class T>
  [[nodiscard]] static WholeNumber of(T value) {
    if constexpr (std::is_unsigned_v<T>)
      return {false, value};
    else if (value >= 0)
      return {false, static_cast<std::uint64_t>(value)};
    else
      return {true, 0 - static_cast<std::uint64_t>(static_cast<std::int64_t>(value))};
  }
  /// One that was an int64.
  [[nodiscard]] std::int64_t as_int64() const {
    return static_cast<std::int64_t>(is_negative ? 0 - magnitude : magnitude);
  }
  friend bool operator==(const WholeNumber&, const WholeNumber&) = default;
  friend bool operator<(const WholeNumber& a, const WholeNumber& b) {
    if (a.is_negative != b.is_negative) return a.is_negative;
    return a.is_negative ? a.magnitude > b.magnitude : a.magnitude < b.magnitude;
  }
};

/// How the elements of an array are taken as numbers.
enum class NumberKind {
  none,  ///< texts, raw bytes, structures, float128
  boolean,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  time,  ///< datetime64, timedelta64: int64, and its least is NaT, which counts as NaN
  float16,
  float32,
  float64,
  complex64,   ///< by its absolute value
  complex128,  ///< by its absolute value
};
/// Of NumPy's name of a type, "<f4". `none` for what holds no numbers.
[[nodiscard]] NumberKind number_kind_of(std::string_view descr);
[[nodiscard]] bool is_whole(NumberKind kind);
/// Bytes of an element; 0 for none.
[[nodiscard]] std::size_t bytes_of_number(NumberKind kind);

/// A half-precision float as a double.
[[nodiscard]] double half_to_double(std::uint16_t half);

template <class T>
[[nodiscard]] T number_at(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}
/// An integer, or bool, exactly; uint64 above the largest int64 wraps. 0 for other kinds.
[[nodiscard]] std::int64_t whole_number_at(NumberKind kind, const std::byte* at);
/// The length of a complex number: without the overflow of squares, of IEEE operations alone (the
/// same everywhere), and without libm's hypot, whose symbol would ask for glibc 2.35.
[[nodiscard]] double length_of_complex(double real, double imaginary);

// Elements that C++ has no type for.
struct Half {
  std::uint16_t bits;
};
struct TimeCount {
  std::int64_t count;
};
template <class Part>
struct ComplexParts {
  Part real, imaginary;
};

/// Calls `use` with an element of a kind, of the type that holds it. Not for NumberKind::none.
template <class Use>
auto with_element_of(NumberKind kind, Use&& use) {
  switch (kind) {
    case NumberKind::none:
    case NumberKind::boolean:
    case NumberKind::uint8:
      break;
    case NumberKind::int8:
      return use(std::int8_t{});
    case NumberKind::int16:
      return use(std::int16_t{});
    case NumberKind::int32:
      return use(std::int32_t{});
    case NumberKind::int64:
      return use(std::int64_t{});
    case NumberKind::uint16:
      return use(std::uint16_t{});
    case NumberKind::uint32:
      return use(std::uint32_t{});
    case NumberKind::uint64:
      return use(std::uint64_t{});
    case NumberKind::time:
      return use(TimeCount{});
    case NumberKind::float16:
      return use(Half{});
    case NumberKind::float32:
      return use(float{});
    case NumberKind::float64:
      return use(double{});
    case NumberKind::complex64:
      return use(ComplexParts<float>{});
    case NumberKind::complex128:
      return use(ComplexParts<double>{});
  }
  return use(std::uint8_t{});
}

template <class T>
[[nodiscard]] double as_double(T number) {
  return static_cast<double>(number);
}
[[nodiscard]] inline double as_double(Half half) { return half_to_double(half.bits); }
[[nodiscard]] inline double as_double(TimeCount time) {
  return time.count == kNotATime ? std::nan("") : static_cast<double>(time.count);
}
template <class Part>
[[nodiscard]] double as_double(const ComplexParts<Part>& number) {
  return length_of_complex(static_cast<double>(number.real), static_cast<double>(number.imaginary));
}

/// Calls `use(double)` for each element of little-endian bytes; of complex ones for its length.
/// Integers beyond 2^53 are rounded. A part of an element at the end is none. NaT is NaN.
template <class Use>
void for_each_number(NumberKind kind, Bytes bytes, Use&& use) {
  if (kind == NumberKind::none) return;
  with_element_of(kind, [&](auto element) {
    for (std::size_t at = 0; at + sizeof(element) <= bytes.size(); at += sizeof(element))
      use(as_double(number_at<decltype(element)>(bytes.data() + at)));
  });
}

/// An element in words: integers exactly, reals with as many digits as tell them from others of
/// their type, "1+2j", "nan", times as time_text() has them. Empty for NumberKind::none.
[[nodiscard]] std::string number_words(NumberKind kind, std::string_view descr,
                                       const std::byte* at);

/// A sum of squares that neither overflows nor vanishes: `sum` times 2^(2 * exponent).
struct ScaledSquares {
  double sum = 0;
  int exponent = 0;
  void add(const ScaledSquares& more);
};

/// What is known of the numbers of a field. Those of parts are joined in the order of the parts:
/// then the result does not depend on who counted them.
class NumberCounts {
 public:
  /// Elements, little-endian.
  void count(NumberKind kind, Bytes bytes);
  /// One after the other.
  void count(std::span<const double> values);
  void add(const NumberCounts& more);

  [[nodiscard]] std::uint64_t values() const { return values_; }
  [[nodiscard]] std::uint64_t nan_count() const { return nan_; }
  [[nodiscard]] std::uint64_t infinite_count() const { return infinite_; }
  [[nodiscard]] std::uint64_t zero_count() const { return zero_; }
  [[nodiscard]] std::uint64_t finite_count() const { return finite_; }
  /// Of the finite ones; only while there are any.
  [[nodiscard]] double minimum() const { return minimum_; }
  [[nodiscard]] double maximum() const { return maximum_; }
  [[nodiscard]] double mean() const { return mean_; }
  /// The same two exactly, of integers and times.
  [[nodiscard]] const std::optional<WholeNumber>& least_whole() const { return least_whole_; }
  [[nodiscard]] const std::optional<WholeNumber>& most_whole() const { return most_whole_; }
  /// Of the whole, not of a sample: numpy.std's, but also where squares overflow or vanish.
  [[nodiscard]] double deviation() const;

 private:
  void count_run(std::span<const double> values);
  void join(std::uint64_t count, double mean, ScaledSquares squares, double least, double most);
  void take_whole(const WholeNumber& least, const WholeNumber& most);
  template <class T>
  void take_range_of(NumberKind kind, Bytes bytes);

  std::uint64_t values_ = 0, nan_ = 0, infinite_ = 0, zero_ = 0, finite_ = 0;
  double minimum_ = 0, maximum_ = 0, mean_ = 0;
  ScaledSquares squares_;
  std::optional<WholeNumber> least_whole_, most_whole_;
};

/// The bars of elements that lie in the range of the bins.
void count_into(WidthBins& bins, NumberKind kind, Bytes bytes);

/// A column of a structured type, or of a column of it: "x", "box.left".
struct StructuredColumn {
  std::string name;
  std::string descr;                   ///< NumPy's name of its elements' type
  std::vector<std::uint64_t> shape;    ///< of its elements in each element of the whole
  NumberKind kind = NumberKind::none;  ///< none: not numbers, or structures with a shape
  std::uint64_t offset = 0, bytes = 0;
};

/// Those of a structured type, in its order, without its gaps; at most kMostColumns of them. None
/// of other types. Errors: none for a type that DType::parse made.
[[nodiscard]] std::vector<StructuredColumn> columns_of(const DType& dtype);
inline constexpr std::size_t kMostColumns = 256;

/// The bytes of one column, out of elements that lie one after the other.
[[nodiscard]] std::vector<std::byte> bytes_of_column(const StructuredColumn& column,
                                                     std::uint64_t item_bytes, Bytes elements);

}  // namespace shale
