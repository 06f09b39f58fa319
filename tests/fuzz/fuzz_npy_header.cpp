#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/wire/npy_header.hpp"

// What was read is what NumPy would print for it: it is read back as itself.
static void need_faithful(const shale::NpyHeader& header) {
  const shale::StoredDType again = shale::parse_stored_dtype(header.dtype.descr());
  if (again.dtype != header.dtype || !again.swaps.empty()) __builtin_trap();
  std::vector<std::byte> element(std::min<std::uint64_t>(header.dtype.item_bytes(), 4096));
  if (element.size() == header.dtype.item_bytes())
    shale::swap_bytes(element, element.size(), header.swaps);
}

// Any bytes are the front of an .npy file: they parse, or the error is a shale::Error.
extern "C" int fuzz_npy_header(const std::uint8_t* data, std::size_t size) {
  try {
    const shale::NpyHeader header =
        shale::parse_npy_header({reinterpret_cast<const std::byte*>(data), size}, "fuzz.npy");
    need_faithful(header);
  } catch (const shale::Error&) {
  }
  return 0;
}
