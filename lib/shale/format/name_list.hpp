#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/io/input_file.hpp"

namespace shale {

/// The files that a text file lists, as the `source:` of Caffe's HDF5Data does: names in their
/// order, separated by whitespace. Nullopt: it is not such a list, which is called X.txt and has
/// nothing but names that end in one of the suffixes. `what` they are: "HDF5". Errors: Code::limit
/// for a list that is too long; Code::io.
/// Source: caffe, src/caffe/layers/hdf5_data_layer.cpp (`while (source_file >> line)`).
[[nodiscard]] std::optional<std::vector<std::string>> names_in_list(
    const InputFile& list, std::span<const std::string_view> suffixes, std::string_view what);

}  // namespace shale
