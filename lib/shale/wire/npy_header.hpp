#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "shale/base/bytes.hpp"

namespace shale {

/// What stands in front of the data of an .npy file.
struct NpyHeader {
  /// Columns of a structured array (name, descr), in order, packed; or one column without a name for a plain one.
  std::vector<std::pair<std::string, std::string>> columns;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
  std::uint64_t data_offset = 0;  ///< bytes of the header, a multiple of 64

  /// Bytes of one element (of one row, for a structured array).
  [[nodiscard]] std::uint64_t item_bytes() const;
};

/// The header as NumPy itself writes it for this dtype and shape, byte for byte (version 1.0, padded to a multiple of 64
/// with room for axis 0 to grow to 21 digits, so that the number of rows can be patched without moving the data).
/// Errors: Code::limit if it does not fit version 1.0 (65,535 bytes).
/// Source: numpy/lib/_format_impl.py 2.x, _write_array_header.
[[nodiscard]] std::vector<std::byte> npy_header_bytes(const NpyHeader& header);

/// Parses the header at the front of `bytes` (versions 1, 2, 3), which need hold no more than the header.
/// Errors: Code::damaged for anything that is not a header; Code::unsupported, by name, for object dtypes.
[[nodiscard]] NpyHeader parse_npy_header(Bytes bytes, std::string_view where);

}  // namespace shale
