#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/data/schema.hpp"
#include "shale/wire/npy_header.hpp"

// An .npy file that is the value of one field of one sample, and not a column of many.

namespace shale {

/// What the first bytes of such a file of `file_bytes` say; `head` holds at least the header.
/// Errors: same as parse_npy_header; Code::damaged for a truncated array, Code::unsupported for one
/// that is followed by more (npy_goes_on), and for columns with names.
[[nodiscard]] NpyHeader parse_npy_value(Bytes head, std::uint64_t file_bytes,
                                        std::string_view where);

/// The array of a whole file, little-endian and in C order.
struct NpyValue {
  Bytes elements;
  std::vector<std::uint64_t> shape;
  std::uint64_t room_bytes = 0;  ///< what it takes of `room`
};

/// Turns the elements in place, or in Fortran's order copies them to the front of `room`, which is
/// as large as the file. Errors: same as parse_npy_value; Code::bad_content for an array that is
/// not one of the field, a tensor.
[[nodiscard]] NpyValue read_npy_value(const Field& field, std::span<std::byte> file,
                                      std::span<std::byte> room, std::string_view where);

}  // namespace shale
