#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "shale/base/bytes.hpp"
#include "shale/wire/npy_header.hpp"

// idx, the files of MNIST, big-endian: u8 0, u8 0, u8 type (08 uint8, 09 int8, 0b int16, 0c int32,
// 0d float32, 0e float64), u8 axes; u32 side of each axis; the elements in C order.
// Source: Y. LeCun, C. Cortes, C. Burges, "The MNIST database", "THE IDX FILE FORMAT";
// torchvision/datasets/mnist.py, `read_sn3_pascalvincent_tensor`.

namespace shale {

/// No header is longer: it has 255 axes at most.
inline constexpr std::uint64_t kMostIdxHeaderBytes = 4 + 4 * 255;

/// The header at the front of `head`, which holds kMostIdxHeaderBytes or all of a shorter file, as
/// that of an .npy file of the same array. Nullopt for what does not begin like one, and for axes
/// whose elements take 2^63 bytes or more.
[[nodiscard]] std::optional<NpyHeader> idx_header_of(Bytes head);

/// True for the name of such a file: "train-images-idx3-ubyte", "train-labels.idx1-ubyte.gz".
[[nodiscard]] bool has_idx_name(std::string_view path);

/// The header of a file of so many bytes: its beginning alone says little, so its size must be that
/// of its array, unless its name says what it is. Nullopt for any other file.
[[nodiscard]] std::optional<NpyHeader> idx_header_of_file(Bytes head, std::uint64_t size,
                                                          std::string_view path);

}  // namespace shale
