#include "formats/hdf5/hdf5_library_types.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>
#include <hdf5.h>

#include "formats/hdf5/hdf5_library.hpp"

namespace shale {
namespace {

std::string descr_of(hid_t type, char letter, std::size_t bytes) {
  const H5T_order_t order = H5Tget_order(type);
  const char mark = bytes == 1 ? '|' : order == H5T_ORDER_BE ? '>' : '<';
  return fmt::format("{}{}{}", mark, letter, bytes);
}

bool has_plain_order(hid_t type) {
  const H5T_order_t order = H5Tget_order(type);
  return order == H5T_ORDER_LE || order == H5T_ORDER_BE;
}

std::optional<std::string> integer_descr(hid_t type) {
  const std::size_t bytes = H5Tget_size(type);
  const bool is_plain = (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8) &&
                        H5Tget_precision(type) == bytes * 8 && H5Tget_offset(type) == 0 &&
                        has_plain_order(type);
  if (!is_plain) return std::nullopt;
  // Bits have no sign to ask for.
  const bool is_signed = H5Tget_class(type) == H5T_INTEGER && H5Tget_sign(type) != H5T_SGN_NONE;
  return descr_of(type, is_signed ? 'i' : 'u', bytes);
}

std::optional<std::string> float_descr(hid_t type) {
  struct Ieee {
    std::size_t bytes, sign, exponent, exponent_bits, mantissa_bits, bias;
  };
  constexpr Ieee kIeee[] = {
      {2, 15, 10, 5, 10, 15}, {4, 31, 23, 8, 23, 127}, {8, 63, 52, 11, 52, 1023}};
  std::size_t sign = 0, exponent = 0, exponent_bits = 0, mantissa = 0, mantissa_bits = 0;
  if (H5Tget_fields(type, &sign, &exponent, &exponent_bits, &mantissa, &mantissa_bits) < 0)
    return std::nullopt;
  for (const Ieee& ieee : kIeee) {
    if (H5Tget_size(type) == ieee.bytes && sign == ieee.sign && exponent == ieee.exponent &&
        exponent_bits == ieee.exponent_bits && mantissa == 0 &&
        mantissa_bits == ieee.mantissa_bits && H5Tget_ebias(type) == ieee.bias &&
        H5Tget_norm(type) == H5T_NORM_IMPLIED && has_plain_order(type)) {
      return descr_of(type, 'f', ieee.bytes);
    }
  }
  return std::nullopt;
}

bool has_byte(hid_t type, const char* name, std::int8_t expected) {
  std::int8_t value = -1;
  return H5Tenum_valueof(type, name, &value) >= 0 && value == expected;
}

// h5py's bool: FALSE = 0, TRUE = 1 in a byte. Other enumerations are the numbers that are stored.
std::optional<std::string> enum_descr(hid_t type) {
  const Hdf5Handle base(H5Tget_super(type), H5Tclose);
  if (!base.is_valid()) return std::nullopt;
  const bool is_bool = H5Tget_size(type) == 1 && H5Tget_nmembers(type) == 2 &&
                       has_byte(type, "FALSE", 0) && has_byte(type, "TRUE", 1);
  return is_bool ? std::optional<std::string>("|b1") : integer_descr(base.id());
}

// {r, i}, both floats of one type, without padding.
std::optional<std::string> complex_descr(hid_t type) {
  const bool has_names = H5Tget_nmembers(type) == 2 && hdf5_member_name(type, 0) == "r" &&
                         hdf5_member_name(type, 1) == "i";
  if (!has_names) return std::nullopt;
  const Hdf5Handle real(H5Tget_member_type(type, 0), H5Tclose);
  const Hdf5Handle imaginary(H5Tget_member_type(type, 1), H5Tclose);
  if (!real.is_valid() || !imaginary.is_valid()) return std::nullopt;
  const std::size_t bytes = H5Tget_size(real.id());
  const bool is_packed = H5Tequal(real.id(), imaginary.id()) > 0 &&
                         H5Tget_size(type) == 2 * bytes && H5Tget_member_offset(type, 0) == 0 &&
                         H5Tget_member_offset(type, 1) == bytes;
  const bool is_number = H5Tget_class(real.id()) == H5T_FLOAT && bytes >= 4;
  if (!is_packed || !is_number || !float_descr(real.id())) return std::nullopt;
  return descr_of(real.id(), 'c', 2 * bytes);
}

// h5py keeps NumPy's times as opaque bytes with the dtype in the tag.
std::optional<std::string> opaque_descr(hid_t type) {
  char* tag = H5Tget_tag(type);
  if (tag == nullptr) return std::nullopt;
  const std::string text(tag);
  H5free_memory(tag);
  constexpr std::string_view kMark = "NUMPY:";
  if (!text.starts_with(kMark)) return std::nullopt;
  std::string descr = text.substr(kMark.size());
  const bool has_order = descr.starts_with('<') || descr.starts_with('>');
  if (!has_order) descr.insert(0, 1, '<');
  const bool is_time =
      H5Tget_size(type) == 8 && descr.size() >= 3 && (descr[1] == 'M' || descr[1] == 'm');
  return is_time ? std::optional<std::string>(descr) : std::nullopt;
}

}  // namespace

std::string hdf5_member_name(std::int64_t type, unsigned member) {
  char* name = H5Tget_member_name(type, member);
  if (name == nullptr) return {};
  std::string text(name);
  H5free_memory(name);
  return text;
}

std::int64_t little_endian_hdf5_type(std::int64_t type) {
  const H5T_class_t kind = H5Tget_class(type);
  if (kind != H5T_ENUM && kind != H5T_ARRAY) {
    const hid_t copy = H5Tcopy(type);
    if (H5Tset_order(copy, H5T_ORDER_LE) >= 0) return copy;
    H5Tclose(copy);
    return -1;
  }
  // The order of an enumeration that has names cannot be changed.
  const Hdf5Handle base(H5Tget_super(type), H5Tclose);
  if (kind == H5T_ENUM) return little_endian_hdf5_type(base.id());
  std::array<hsize_t, H5S_MAX_RANK> sides{};
  const int rank = H5Tget_array_dims2(type, sides.data());
  const Hdf5Handle element(little_endian_hdf5_type(base.id()), H5Tclose);
  return H5Tarray_create2(element.id(), static_cast<unsigned>(std::max(rank, 0)), sides.data());
}

std::optional<std::string> hdf5_descr_of(std::int64_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
    case H5T_BITFIELD:  // numbers: PyTables' booleans have 8 bits
      return integer_descr(type);
    case H5T_FLOAT:
      return float_descr(type);
    case H5T_ENUM:
      return enum_descr(type);
    case H5T_COMPOUND:
      return complex_descr(type);
    case H5T_OPAQUE:
      return opaque_descr(type);
    default:
      return std::nullopt;
  }
}

}  // namespace shale
