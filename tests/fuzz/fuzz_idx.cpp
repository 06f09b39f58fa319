#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "shale/base/error.hpp"
#include "shale/wire/idx_header.hpp"

// Any bytes are an idx file: its elements are all that is behind its header, or its name says what
// it is; and no header throws.
extern "C" int fuzz_idx(const std::uint8_t* data, std::size_t size) {
  const shale::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  for (const std::string_view name : {"x", "train-images-idx3-ubyte"}) {
    const std::optional<shale::NpyHeader> header = shale::idx_header_of_file(bytes, size, name);
    if (!header) continue;
    const std::uint64_t elements = shale::npy_data_bytes(*header);
    if (header->shape.empty() || header->data_offset > size) __builtin_trap();
    if (name == "x" && elements != size - header->data_offset) __builtin_trap();
    if (elements >> 63U != 0 || header->data_offset > shale::kMostIdxHeaderBytes) __builtin_trap();
  }
  return 0;
}
