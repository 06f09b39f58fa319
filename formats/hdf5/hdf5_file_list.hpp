#pragma once

#include <optional>
#include <string>
#include <vector>

#include "shale/io/input_file.hpp"

namespace shale {

/// The most files that a list may name, and the most bytes that it may have.
inline constexpr std::size_t kMostListedFiles = 65'536;
inline constexpr std::uint64_t kMostListBytes = 16 << 20;

/// The HDF5 files that a text file lists, as the `source:` of Caffe's HDF5Data does: names in their
/// order, separated by whitespace. Nullopt: it is not such a list, which is called X.txt and has
/// nothing but names that end in .h5 or .hdf5. Errors: Code::limit for a list that is too long;
/// Code::io. Source: caffe, src/caffe/layers/hdf5_data_layer.cpp (`while (source_file >> line)`).
[[nodiscard]] std::optional<std::vector<std::string>> list_hdf5_files(const InputFile& list);

}  // namespace shale
