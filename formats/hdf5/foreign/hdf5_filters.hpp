#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"

namespace shale {

/// Makes the filters known that shale brings along: lzf, which h5py has beside those of the
/// library. Only for a child process that reads (hdf5_library.hpp).
void bring_hdf5_filters();

/// The filters of a layout (an identifier of the library), in their order.
struct Hdf5Filter {
  int number = 0;
  std::string name;  ///< for messages; empty: it has none
};
[[nodiscard]] std::vector<Hdf5Filter> filters_of_layout(std::int64_t layout);

/// Errors: Code::unsupported, by dataset and filter, where a chunk cannot be read because the
/// library lacks a filter of this layout.
void check_hdf5_filters(std::int64_t layout, std::string_view dataset);

/// Decompresses what LibLZF compressed. Returns the number of bytes; 0 where `into` is too small or
/// `packed` is not its format.
/// Source: LibLZF 3.6, lzf_d.c; h5py/lzf/lzf_filter.c.
[[nodiscard]] std::size_t unpack_lzf(Bytes packed, std::span<std::byte> into);

}  // namespace shale
