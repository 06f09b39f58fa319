#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/format/format.hpp"

namespace {

std::optional<std::vector<shale::FieldPlace>> walked(const shale::Format& format,
                                                     shale::Bytes extent, std::uint32_t count) {
  // In the middle of a file, so that offsets are no lengths.
  constexpr std::uint64_t kBegin = 1000;
  const shale::ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    if (offset < kBegin || length > extent.size() || offset - kBegin > extent.size() - length)
      __builtin_trap();
    return extent.subspan(offset - kBegin, length);
  };
  try {
    auto places =
        format.walk_list(view, {.offset = kBegin, .length = extent.size(), .count = count});
    for (shale::FieldPlace& place : places) {
      (void)view(place.offset, place.length);
      place.offset -= kBegin;
    }
    return places;
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::io || error.code() == shale::Code::bug) __builtin_trap();
    return std::nullopt;
  }
}

}  // namespace

// A byte for the format, one for the count, then any bytes as a list: the walk asks for none
// outside of them, and where both take them, its elements are those that the list divides into.
extern "C" int fuzz_list_elements(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::vector<const shale::Format*> formats;
  for (const shale::Format* format : shale::all_formats()) {
    if (format->walk_list != nullptr && format->split_list != nullptr) formats.push_back(format);
  }
  const shale::Format& format = *formats[data[0] % formats.size()];
  const std::uint32_t count = data[1];
  const shale::Bytes extent(reinterpret_cast<const std::byte*>(data) + 2, size - 2);
  const std::optional<std::vector<shale::FieldPlace>> places = walked(format, extent, count);
  std::vector<shale::Bytes> elements;
  try {
    elements = format.split_list(extent, count);
  } catch (const shale::Error& error) {
    if (error.code() != shale::Code::damaged) __builtin_trap();
    return 0;
  }
  if (!places || places->size() != elements.size()) __builtin_trap();
  for (std::size_t i = 0; i < elements.size(); ++i) {
    const shale::Bytes element = extent.subspan((*places)[i].offset, (*places)[i].length);
    if (element.data() != elements[i].data() || element.size() != elements[i].size())
      __builtin_trap();
  }
  return 0;
}
