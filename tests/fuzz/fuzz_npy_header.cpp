#include <cstddef>
#include <cstdint>

#include "shale/base/error.hpp"
#include "shale/wire/npy_header.hpp"

// Any bytes are the front of an .npy file: they parse, or the error is a shale::Error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const shale::NpyHeader header =
        shale::parse_npy_header({reinterpret_cast<const std::byte*>(data), size}, "fuzz.npy");
    (void)header.item_bytes();
  } catch (const shale::Error&) {
  }
  return 0;
}
