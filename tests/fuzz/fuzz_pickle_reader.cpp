#include <cstddef>
#include <cstdint>

#include "shale/base/error.hpp"
#include "shale/wire/pickle_reader.hpp"
#include "shale/wire/pickled_array.hpp"

namespace {

constexpr std::string_view kGlobals[] = {"collections OrderedDict", "numpy ndarray", "numpy dtype",
                                         "torch FloatStorage", "torch._utils _rebuild_tensor_v2"};

// As if the values were a tree: the limits say that this ends. Returns how many there are.
std::uint64_t walk(const shale::PickleValue& value, std::size_t size) {
  using shale::PickleKind;
  std::uint64_t values = 1;
  switch (value.kind()) {
    case PickleKind::bytes:
    case PickleKind::text:
      if (value.offset() > size || value.length() > size - value.offset()) __builtin_trap();
      return values;
    case PickleKind::other:
      if (value.name().size() > size + 1024) __builtin_trap();
      return values;
    case PickleKind::tuple:
    case PickleKind::list:
    case PickleKind::persistent_id:
      for (std::size_t i = 0; i < value.size(); ++i) values += walk(value[i], size);
      return values;
    case PickleKind::call:
      for (std::size_t i = 0; i < value.size(); ++i) values += walk(value[i], size);
      if (value.state()) values += walk(*value.state(), size);
      [[fallthrough]];
    case PickleKind::dict:
      for (std::size_t i = 0; i < value.entries(); ++i)
        values += walk(value.key(i), size) + walk(value.value(i), size);
      return values;
    default:
      return values;
  }
}

}  // namespace

// Any bytes are a pickle: the reader asks for no byte outside of them, and what it returns is a
// tree of bounded size.
extern "C" int fuzz_pickle_reader(const std::uint8_t* data, std::size_t size) {
  const shale::Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto view = [&](std::uint64_t offset, std::uint64_t length) {
    if (offset > size || length > size - offset) __builtin_trap();
    return bytes.subspan(offset, length);
  };
  constexpr shale::PickleLimits kLimits{.values = 4096, .depth = 16, .text_bytes = 4096};
  for (const bool takes_objects : {false, true}) {
    shale::PickleLimits limits = kLimits;
    limits.takes_objects = limits.takes_others = takes_objects;
    try {
      const shale::Pickle pickle = shale::read_pickle(view, 0, size, "fuzz", kGlobals, limits);
      if (walk(pickle.root(), size) > limits.values) __builtin_trap();
    } catch (const shale::Error& error) {
      if (error.code() == shale::Code::io || error.code() == shale::Code::bug) __builtin_trap();
    }
  }
  try {
    const shale::Pickle pickle =
        shale::read_pickle(view, 0, size, "fuzz", shale::pickled_array_globals(), kLimits);
    const auto array = shale::PickledArrays(view, 0, "fuzz").array_of(pickle.root());
    if (array && (array->offset > size || array->length > size - array->offset)) __builtin_trap();
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::io || error.code() == shale::Code::bug) __builtin_trap();
  }
  return 0;
}
