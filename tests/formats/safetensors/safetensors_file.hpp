#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "shale/base/bytes.hpp"

namespace shale::test {

/// A file with this header, true or not, and so many bytes behind it.
inline std::string safetensors_file(std::string_view header, std::size_t bytes) {
  ByteWriter out;
  out.write(std::uint64_t{header.size()});
  out.write_text(header);
  return std::string(as_text(out.bytes())) + std::string(bytes, 'r');
}

}  // namespace shale::test
