#include <cstddef>
#include <cstdint>

#include "shale/base/error.hpp"
#include "shale/layouts/pickled_value.hpp"
#include "shale/layouts/value_layout.hpp"

// Any bytes are a value, or a pickled list of keys: the parsers ask for no byte outside them, and
// what they find lies inside.
extern "C" int fuzz_lmdb_layout(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const shale::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto need_inside = [&](std::uint64_t offset, std::uint64_t length) {
    if (offset < 1 || offset > size || length > size - offset) __builtin_trap();
  };
  const shale::ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    need_inside(offset, length);
    return bytes.subspan(offset, length);
  };
  const auto layouts = shale::layouts::all_layouts();
  const std::size_t chosen = data[0] % (layouts.size() + 1);
  try {
    if (chosen == layouts.size()) {
      (void)shale::layouts::for_each_pickled_key(view, 1, size - 1, "fuzz", need_inside);
      return 0;
    }
    for (const shale::layouts::LayoutField& field :
         layouts[chosen].parse({view, 1, size - 1, "fuzz"})) {
      const shale::FieldPlace& place = field.cell.place;
      // None, and what no field can hold.
      if (field.field.is_optional && place.offset == shale::kMissing) continue;
      if (shale::is_located(field.field.kind)) need_inside(place.offset, place.length);
      if (field.field.kind == shale::Kind::list && place.count > size) __builtin_trap();
    }
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::bug) __builtin_trap();
  }
  return 0;
}
