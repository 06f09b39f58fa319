#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "shale/base/decoder.hpp"
#include "shale/base/error.hpp"
#include "shale/layouts/json_value.hpp"
#include "shale/layouts/list_packing.hpp"
#include "shale/layouts/map_value.hpp"

namespace {

// What is learnt of can be packed, as a map of fields whose places lie inside.
void pack_json(std::string_view text) {
  shale::layouts::JsonPacking packing;
  packing.learn(text);
  const std::string packed = packing.pack(text);
  const auto view = [&](std::uint64_t offset, std::uint64_t length) {
    return shale::as_bytes(packed).subspan(offset, length);
  };
  try {
    (void)shale::layouts::parse_map_of_fields(view, 0, packed.size(), "fuzz");
  } catch (const shale::Error& error) {
    if (error.code() != shale::Code::limit) __builtin_trap();
  }
}

// The same of pickled dicts and msgpack maps with lists of numbers.
void pack_lists(bool are_pickles, shale::Bytes value) {
  shale::layouts::ListPacking packing(are_pickles);
  packing.learn(value);
  if (!packing.has_any()) return;
  const std::string packed = packing.pack("fuzz", value);
  const auto view = [&](std::uint64_t offset, std::uint64_t length) {
    return shale::as_bytes(packed).subspan(offset, length);
  };
  (void)shale::layouts::parse_map_of_fields(view, 0, packed.size(), "fuzz");
}

// In pieces, up to 1 MiB.
void decode(shale::Bytes bytes) {
  shale::Decoder decoder(shale::Packing::lz4, 0);
  std::array<std::byte, 1000> into{};
  for (std::size_t given = 0; given < 1 << 20;) {
    const auto step = decoder.decode(bytes.first(std::min<std::size_t>(bytes.size(), 7)), into);
    if (step.taken > bytes.size() || step.given > into.size()) __builtin_trap();
    bytes = bytes.subspan(step.taken);
    given += step.given;
    if (step.taken == 0 && step.given == 0) return;
  }
}

}  // namespace

// Any bytes are JSON, a pickle, a msgpack map, a frame or a block of LZ4, by the first one.
extern "C" int fuzz_packed_value(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const shale::Bytes bytes(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  try {
    if (data[0] == 'j') {
      pack_json(shale::as_text(bytes));
    } else if (data[0] == 'p' || data[0] == 'm') {
      pack_lists(data[0] == 'p', bytes);
    } else if (data[0] == 'b') {
      constexpr std::uint64_t kMost = 1 << 20;
      const auto content = shale::unpack_lz4_block(bytes, kMost);
      if (content && content->size() > kMost) __builtin_trap();
    } else {
      decode(bytes);
    }
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::io || error.code() == shale::Code::bug) __builtin_trap();
  }
  return 0;
}
