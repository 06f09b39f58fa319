#include <algorithm>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/format/list_elements.hpp"
#include "shale/loading/loader.hpp"
#include "shale/loading/loader_state.hpp"

// Loader::elements: single elements of lists.

namespace shale {
namespace {

// All elements of a list whose bytes were read, as places in the file.
std::vector<FieldPlace> walked(const Format& format, const FieldPlace& list, Bytes extent) {
  const ViewBytes view = [&](std::uint64_t offset, std::uint64_t length) {
    return extent.subspan(offset - list.offset, length);
  };
  std::vector<FieldPlace> elements = format.walk_list(view, list);
  for (FieldPlace& element : elements)
    element.crc32c = crc32c(view(element.offset, element.length));
  return elements;
}

bool is_inside(const FieldPlace& element, const FieldPlace& list) {
  return element.offset >= list.offset && element.length <= list.length &&
         element.offset - list.offset <= list.length - element.length;
}

}  // namespace

std::vector<FieldPlace> Loader::elements(const LocatedSample& sample, std::size_t field,
                                         std::span<const std::uint64_t> numbers) const {
  const FieldPlace& list = sample.place.cells[field].place;
  if (numbers.empty()) return {};
  const auto [least, most] = std::ranges::minmax(numbers);
  if (list.offset == kMissing || most >= list.count) {
    throw no_such_element(most, manifest().schema.fields[field].name, list.count)
        .for_sample({}, sample.row);
  }
  std::vector<FieldPlace> run;
  std::uint64_t first = least;
  const OpenShardPointer shard = state().shard(sample.shard);
  if (const ElementReader* listed = shard->reader.elements()) {
    run = listed->read(list.first + least, most - least + 1);
    for (const FieldPlace& element : run) {
      if (is_inside(element, list)) continue;
      throw element_outside(element, list)
          .at(shard->reader.shard().elements.name)
          .hint("run 'shale verify' to list all the damage");
    }
  } else {
    std::vector<std::byte> extent(list.length);
    const Fetch whole{&sample, field, extent};
    fetch({&whole, 1});
    run = walked(format_of(manifest()), list, extent);
    first = 0;
  }
  std::vector<FieldPlace> places;
  places.reserve(numbers.size());
  for (const std::uint64_t number : numbers) places.push_back(run[number - first]);
  return places;
}

}  // namespace shale
