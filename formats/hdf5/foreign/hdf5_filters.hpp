#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "shale/trees/hdf5_chunk_bytes.hpp"

namespace shale {

/// Makes the filters known that shale brings along: lzf, which h5py has beside those of the
/// library. Only for a child process that reads (hdf5_library.hpp).
void bring_hdf5_filters();

/// The filters of a layout (an identifier of the library), in their order.
[[nodiscard]] std::vector<Hdf5Filter> filters_of_layout(std::int64_t layout);

/// Errors: Code::unsupported, by dataset and filter, where a chunk cannot be read because the
/// library lacks a filter of this layout.
void check_hdf5_filters(std::int64_t layout, std::string_view dataset);

}  // namespace shale
