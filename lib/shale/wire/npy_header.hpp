#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/data/dtype.hpp"

// .npy: "\x93NUMPY", u8 major, u8 minor; length of the header text, u16 (version 1) or u32 (2, 3);
// the text, padded with spaces and one newline; the data. The text is a Python dict literal,
// latin-1 (1, 2) or UTF-8 (3):
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
// Source: numpy/lib/_format_impl.py 2.x.

namespace shale {

/// What precedes the data of an .npy file.
struct NpyHeader {
  DType dtype;
  std::vector<ByteSwap> swaps = {};  ///< what of an element lies big-endian; none when written
  bool fortran_order = false;
  std::vector<std::uint64_t> shape = {};  ///< empty for a 0-d array, of one element
  std::uint64_t data_offset = 0;          ///< bytes of the header, a multiple of 64 of NumPy's
};

[[nodiscard]] inline bool is_npy(Bytes head) { return as_text(head).starts_with("\x93NUMPY"); }
/// The same of a file that may be cut within its first bytes.
[[nodiscard]] inline bool may_be_npy(Bytes head) {
  return std::string_view("\x93NUMPY").starts_with(as_text(head).substr(0, 6));
}

/// No header that is parsed is larger.
inline constexpr std::uint64_t kMaxNpyHeaderBytes = 12 + 65'535;

/// The first so many bytes of a file say how long its header is.
inline constexpr std::uint64_t kNpyPrefixBytes = 12;

/// The header as NumPy itself writes it for this dtype and shape, byte for byte (version 1.0,
/// padded to a multiple of 64 with room for axis 0 to grow to 21 digits, so that the number of rows
/// can be patched). Like NumPy: version 2.0 for headers of more than 65,535 bytes, 3.0 where a
/// column's name does not fit latin-1. Errors: Code::limit for a header of more than 4 MiB;
/// Code::bug for swaps. Source: numpy/lib/_format_impl.py 2.x, _write_array_header.
[[nodiscard]] std::vector<std::byte> npy_header_bytes(const NpyHeader& header);

/// Bytes of the header, of which `prefix` holds at least the first kNpyPrefixBytes (or all of a
/// shorter file). Errors: same as parse_npy_header.
[[nodiscard]] std::uint64_t npy_header_length(Bytes prefix, std::string_view where);

/// Parses the header at the front of `bytes` (versions 1, 2, 3), which need hold no more than the
/// header. The bytes of the whole array, those of an element times the axes, fit in 63 bits, even
/// with axes of length 0 left out. Errors: Code::damaged for anything that is not a header;
/// Code::unsupported for other versions and, by name, for dtypes that DType does not know, such as
/// objects; Code::limit for a longer header than kMaxNpyHeaderBytes, and as parse_stored_dtype. All
/// with file and offset.
[[nodiscard]] NpyHeader parse_npy_header(Bytes bytes, std::string_view where);

/// Bytes of the array, once its header was parsed.
[[nodiscard]] std::uint64_t npy_data_bytes(const NpyHeader& header);

/// Errors: Code::damaged for a file (or member) of `size` bytes that ends within its array.
void check_npy_size(const NpyHeader& header, std::uint64_t size, std::string_view where);

/// The error for a file (or the member of an archive) that goes on for `more` bytes behind its
/// array: Code::unsupported, as np.load takes no notice of them. `behind` holds the first of them,
/// or none where nobody looked; `where` and `offset` are their place.
[[nodiscard]] Error npy_goes_on(const NpyHeader& header, std::uint64_t more, Bytes behind,
                                std::string_view where, std::uint64_t offset);

}  // namespace shale
