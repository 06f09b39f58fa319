#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shale/wire/npy_header.hpp"

namespace shale::test {

/// An .npy file of one array, whose elements are the bytes of `data`.
inline std::string npy_text(std::string_view descr, std::vector<std::uint64_t> shape,
                            std::string_view data, bool fortran_order = false) {
  const bool is_big = descr.starts_with('>');
  const std::string little = (is_big ? "<" : "") + std::string(descr.substr(is_big ? 1 : 0));
  const NpyHeader header{
      .dtype = DType::parse(little), .fortran_order = fortran_order, .shape = std::move(shape)};
  std::string text(as_text(npy_header_bytes(header)));
  if (is_big) text[text.find('<')] = '>';
  return text.append(data);
}

/// One axis of numbers, big-endian if `descr` says so.
template <class Number>
std::string npy_of(std::string_view descr, const std::vector<Number>& numbers) {
  std::string data;
  for (const Number& number : numbers) {
    std::string bytes(as_text(bytes_of(number)));
    if (descr.starts_with('>')) std::reverse(bytes.begin(), bytes.end());
    data += bytes;
  }
  return npy_text(descr, {numbers.size()}, data);
}

/// Numbers of any of NumPy's integer types and bool, and floats of 4 and 8 bytes.
template <class Number>
std::string npy_as(std::string_view descr, const std::vector<Number>& numbers) {
  const auto as = [&]<class Other>(Other) {
    std::vector<Other> others;
    for (const Number& number : numbers) others.push_back(static_cast<Other>(number));
    return npy_of(descr, others);
  };
  const std::string_view type = descr.substr(1);
  if (type == "i1") return as(std::int8_t{});
  if (type == "i2") return as(std::int16_t{});
  if (type == "i4") return as(std::int32_t{});
  if (type == "i8") return as(std::int64_t{});
  if (type == "u1" || type == "b1") return as(std::uint8_t{});
  if (type == "u2") return as(std::uint16_t{});
  if (type == "u4") return as(std::uint32_t{});
  if (type == "u8") return as(std::uint64_t{});
  if (type == "f4") return as(float{});
  return as(double{});
}

inline constexpr std::string_view kIntegerTypes[] = {"|i1", "<i2", "<i4", "<i8", "|u1",
                                                     "<u2", "<u4", "<u8", ">i2", ">i4",
                                                     ">i8", ">u2", ">u4", ">u8"};

}  // namespace shale::test
