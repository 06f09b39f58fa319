#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"

namespace shale {

// Numbers of filters (HDF5 File Format Specification 3.0, IV.A.2.l), and that of h5py's lzf.
inline constexpr int kHdf5Deflate = 1, kHdf5Shuffle = 2, kHdf5Fletcher32 = 3, kHdf5NBit = 5,
                     kHdf5ScaleOffset = 6, kHdf5Lzf = 32'000;

struct Hdf5Filter {
  int number = 0;
  std::string name;              ///< for messages; empty: it has none
  std::vector<unsigned> values;  ///< what it was set to
};

/// What a filter was set to other than it is: "filter shuffle says that the bytes of an element are
/// 8, but they are 4"; empty: nothing.
/// Source: H5Zshuffle.c, H5Znbit.c and H5Zscaleoffset.c of HDF5 1.10 (set_local).
[[nodiscard]] std::string fault_of_filter(const Hdf5Filter& filter, std::uint64_t element_bytes,
                                          std::uint64_t elements_of_chunk);

/// How many bytes a stored chunk has without its filters; `passed_over` has a bit for each that was
/// not used. Nothing: one of them is not known here, or the chunk is damaged.
[[nodiscard]] std::optional<std::uint64_t> unfiltered_bytes(Bytes stored,
                                                            std::span<const Hdf5Filter> filters,
                                                            std::uint32_t passed_over);

}  // namespace shale
