#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/base/view_bytes.hpp"
#include "shale/data/stored_tensor.hpp"

// .safetensors: u64 length of the header, little-endian; the header, JSON, with spaces behind it;
// the tensors, one after the other without a gap, up to the end of the file:
//   {"__metadata__": {"name": "text"}, "weight": {"dtype": "F32", "shape": [2, 3], "data_offsets":
//   [0, 24]}}
// Offsets count from the end of the header. Elements are little-endian, in C order.
// Source: github.com/safetensors/safetensors, README.md and src/tensor.rs (0.8).

namespace shale {

/// No header is longer.
inline constexpr std::uint64_t kMaxSafetensorsHeader = 32 << 20;

/// True if a file of `file_bytes` begins like this: length, and an opening brace.
[[nodiscard]] bool is_safetensors(Bytes head, std::uint64_t file_bytes);

/// The tensors that the header of a file of `file_bytes` names, in its order. They lie behind it,
/// without gap or overlap, up to the end. Memory: the header's length, and some 200 bytes per
/// tensor. Errors: Code::damaged, with `where` and offset, for anything that is not such a header;
/// Code::limit for a header longer than kMaxSafetensorsHeader or of more than 2^17 tensors; what
/// `view` throws.
[[nodiscard]] StoredTensors read_safetensors(std::uint64_t file_bytes, const ViewBytes& view,
                                             std::string_view where);

/// What precedes the tensors, which lie in the order of `places` (indexes of columns):
/// its length does not depend on the number of rows, and is a multiple of 64. Errors: Code::bug for
/// a dtype that the format does not have.
[[nodiscard]] std::vector<std::byte> safetensors_header(std::span<const TensorColumn> columns,
                                                        std::span<const std::size_t> places);
/// An order in which every tensor is aligned to its elements: larger ones first.
[[nodiscard]] std::vector<std::size_t> safetensors_places(std::span<const TensorColumn> columns);

}  // namespace shale
