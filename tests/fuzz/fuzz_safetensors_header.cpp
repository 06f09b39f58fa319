#include <cstddef>
#include <cstdint>

#include "shale/base/error.hpp"

#include "formats/safetensors/safetensors_header.hpp"

// Any bytes are a file of tensors: no byte outside of them is asked for, and none that can be read
// begins outside.
extern "C" int fuzz_safetensors_header(const std::uint8_t* data, std::size_t size) {
  const shale::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto view = [&](std::uint64_t offset, std::uint64_t length) {
    if (offset > size || length > size - offset) __builtin_trap();
    return bytes.subspan(offset, length);
  };
  try {
    for (const shale::StoredTensor& tensor : shale::read_safetensors(size, view, "fuzz").tensors) {
      if (tensor.obstacle.empty() && tensor.offset > size) __builtin_trap();
    }
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::io || error.code() == shale::Code::bug) __builtin_trap();
  }
  return 0;
}
