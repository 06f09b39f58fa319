#include <cstddef>
#include <cstdint>

#include "shale/base/error.hpp"
#include "shale/layouts/map_value.hpp"
#include "shale/wire/msgpack_map.hpp"

// Any bytes are a map, of fields or of maps of fields: the parsers ask for no byte outside of them,
// and no entry lies outside.
extern "C" int fuzz_msgpack_map(const std::uint8_t* data, std::size_t size) {
  const shale::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto view = [&](std::uint64_t offset, std::uint64_t length) {
    if (offset > size || length > size - offset) __builtin_trap();
    return bytes.subspan(offset, length);
  };
  try {
    for (const auto parse : {shale::parse_msgpack_map, shale::layouts::parse_map_of_fields}) {
      for (const shale::MsgpackEntry& entry : parse(view, 0, size, "fuzz")) {
        if (entry.offset > size || entry.length > size - entry.offset || entry.value_offset > size)
          __builtin_trap();
      }
    }
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::io || error.code() == shale::Code::bug) __builtin_trap();
  }
  return 0;
}
