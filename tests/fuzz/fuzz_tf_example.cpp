#include <cstddef>
#include <cstdint>

#include "shale/base/error.hpp"
#include "shale/wire/tf_example.hpp"

// Any bytes are an Example: the parser asks for no byte outside them, and no feature lies outside
// them.
extern "C" int fuzz_tf_example(const std::uint8_t* data, std::size_t size) {
  const shale::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto view = [&](std::uint64_t offset, std::uint64_t length) {
    if (offset > size || length > size - offset) __builtin_trap();
    return bytes.subspan(offset, length);
  };
  try {
    for (const shale::ParsedFeature& feature : shale::parse_example(view, 0, size, "fuzz")) {
      if (feature.list_offset > size || feature.list_length > size - feature.list_offset)
        __builtin_trap();
    }
  } catch (const shale::Error&) {
  }
  return 0;
}
