#include "shale/data/fixed_value.hpp"

#include <algorithm>
#include <bit>
#include <concepts>
#include <limits>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/array_text.hpp"

namespace shale {
namespace {

const DType& whole_integer() {
  static const DType dtype = DType::parse("<i8");
  return dtype;
}
const DType& whole_real() {
  static const DType dtype = DType::parse("<f8");
  return dtype;
}

// Widened and narrowed by bits where C++ may not: a conversion by the processor would quiet a
// signalling NaN, and the bytes would not come back.
constexpr std::uint32_t kFloatFraction = 0x007f'ffff;

double widened(float number) {
  const auto bits = std::bit_cast<std::uint32_t>(number);
  const std::uint32_t fraction = bits & kFloatFraction;
  const bool is_nan = (bits & 0x7f80'0000) == 0x7f80'0000 && fraction != 0;
  if (!is_nan) return number;
  const std::uint64_t sign = std::uint64_t{bits >> 31} << 63;
  return std::bit_cast<double>(sign | std::uint64_t{0x7ff} << 52 | std::uint64_t{fraction} << 29);
}

// Nullopt for a number that no float is.
std::optional<float> narrowed(double number) {
  const auto bits = std::bit_cast<std::uint64_t>(number);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  if ((bits >> 52 & 0x7ff) == 0x7ff && fraction != 0) {
    const auto short_fraction = static_cast<std::uint32_t>(fraction >> 29);
    if (short_fraction == 0 || std::uint64_t{short_fraction} << 29 != fraction) return std::nullopt;
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 63) << 31 | 0x7f80'0000 |
                                short_fraction);
  }
  const bool is_finite = (bits >> 52 & 0x7ff) != 0x7ff;
  // A finite double that is too large for a float must not be cast.
  if (is_finite &&
      (number > std::numeric_limits<float>::max() || number < std::numeric_limits<float>::lowest()))
    return std::nullopt;
  const auto narrow = static_cast<float>(number);
  if (static_cast<double>(narrow) != number) return std::nullopt;
  return narrow;
}

template <class T>
T load(Bytes stored) {
  T value;
  std::memcpy(&value, stored.data(), sizeof(T));
  return value;
}

std::int64_t read_integer(Bytes stored, const Field& field) {
  const std::string& descr = field.dtype.descr();
  if (descr.empty()) return load<std::int64_t>(stored);
  const bool is_signed = descr[1] == 'i';
  switch (stored.size()) {
    case 1: {
      const auto byte = load<std::uint8_t>(stored);
      if (descr[1] == 'b' && byte > 1) {
        throw Error(Code::damaged, "bool of field '{}' is {}, neither 0 nor 1",
                    printable(field.name), byte);
      }
      return is_signed ? load<std::int8_t>(stored) : byte;
    }
    case 2:
      return is_signed ? load<std::int16_t>(stored) : load<std::uint16_t>(stored);
    case 4:
      return is_signed ? load<std::int32_t>(stored) : std::int64_t{load<std::uint32_t>(stored)};
    default:
      return load<std::int64_t>(stored);
  }
}

// The least and the largest number that a dtype of integers holds.
std::pair<std::int64_t, std::int64_t> range_of(const DType& dtype) {
  if (dtype.descr()[1] == 'b') return {0, 1};
  const auto bits = static_cast<unsigned>(8 * dtype.item_bytes());
  if (dtype.descr()[1] == 'u') return {0, (std::int64_t{1} << bits) - 1};
  if (bits == 64)
    return {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()};
  return {-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1};
}

template <class T>
Error does_not_fit(T number, const Field& field) {
  return Error(Code::schema, "field '{}' is {} here, which its dtype {} cannot hold",
               printable(field.name), number, dtype_text(field.dtype));
}

}  // namespace

Field field_of_column(std::string name, const DType& dtype, std::vector<std::uint64_t> shape) {
  const std::optional<Kind> scalar = shape.empty() ? scalar_kind_of(dtype) : std::nullopt;
  Field field{.name = std::move(name), .kind = scalar.value_or(Kind::tensor), .dtype = dtype};
  if (!scalar) field.shape = std::move(shape);
  if (scalar && (dtype == whole_integer() || dtype == whole_real())) field.dtype = {};
  return field;
}

DType dtype_of_column(const Field& field) {
  if (field.dtype.item_bytes() > 0) return field.dtype;
  return field.kind == Kind::real ? whole_real() : whole_integer();
}

std::optional<DType> stored_dtype_of(const Field& field, RowStorage rows) {
  if (rows.has_strides()) return dtype_of_column(field);
  return field.dtype.item_bytes() > 0 ? std::optional(field.dtype) : std::nullopt;
}

std::vector<std::uint64_t> shape_of_column(const Field& field, std::uint64_t rows) {
  std::vector<std::uint64_t> shape = {rows};
  shape.insert(shape.end(), field.shape.begin(), field.shape.end());
  return shape;
}

std::optional<std::uint64_t> fixed_bytes_of(const Field& field) {
  if (!field.has_fixed_size()) return std::nullopt;
  if (field.kind == Kind::tensor) return field.tensor_bytes();
  constexpr std::uint64_t kWholeBytes = 8;
  return field.dtype.item_bytes() > 0 ? field.dtype.item_bytes() : kWholeBytes;
}

bool has_fixed_fields(const Schema& schema) {
  return !schema.fields.empty() &&
         std::all_of(schema.fields.begin(), schema.fields.end(),
                     [](const Field& field) { return field.has_fixed_size(); });
}

void refuse_empty_rows(const Schema& schema, std::uint64_t rows) {
  constexpr std::uint64_t kMostEmptyRows = std::uint64_t{1} << 24;
  const bool is_empty =
      std::all_of(schema.fields.begin(), schema.fields.end(),
                  [](const Field& field) { return fixed_bytes_of(field).value_or(1) == 0; });
  if (!is_empty || rows <= kMostEmptyRows) return;
  throw Error(Code::unsupported, "{} rows of zero bytes, more than the limit of {}", rows,
              kMostEmptyRows)
      .hint("leave the array out: without elements it holds no samples");
}

IndexCell read_number(Bytes stored, const Field& field) {
  IndexCell cell;
  if (field.kind == Kind::integer) {
    cell.integer = read_integer(stored, field);
  } else {
    cell.real =
        stored.size() == sizeof(float) ? widened(load<float>(stored)) : load<double>(stored);
  }
  return cell;
}

void write_number(const Value& value, const Field& field, std::span<std::byte> into) {
  if (field.kind == Kind::integer) {
    const std::int64_t number = std::get<std::int64_t>(value);
    if (field.dtype.item_bytes() > 0) {
      const auto [least, most] = range_of(field.dtype);
      if (number < least || number > most) throw does_not_fit(number, field);
    }
    std::memcpy(into.data(), &number, into.size());  // little-endian: the low bytes come first
    return;
  }
  const double number = std::get<double>(value);
  if (into.size() == sizeof(double)) {
    std::memcpy(into.data(), &number, sizeof(double));
    return;
  }
  const std::optional<float> narrow = narrowed(number);
  if (!narrow) throw does_not_fit(number, field);
  std::memcpy(into.data(), &*narrow, sizeof(float));
}

}  // namespace shale
