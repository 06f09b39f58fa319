#include "shale/layouts/list_packing.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "shale/layouts/map_value.hpp"
#include "shale/layouts/msgpack_text.hpp"
#include "shale/layouts/pickled_value.hpp"

namespace shale::layouts {
namespace {

ViewBytes view_of(Bytes value) {
  return
      [value](std::uint64_t offset, std::uint64_t length) { return value.subspan(offset, length); };
}

std::vector<LayoutField> fields_of_pickle(const ViewBytes& view, Bytes value,
                                          ListsOfNumbers lists) {
  return parse_pickled_value(PickledForm::list_or_dict, {view, 0, value.size(), {}}, lists);
}

void append_value(const LayoutField& one, Bytes value, std::string& into) {
  const auto at = [&](const FieldPlace& place) {
    return as_text(value.subspan(place.offset, place.length));
  };
  const auto append_run = [&](Kind kind, const FieldPlace& place) {
    if (kind == Kind::text) return append_text(at(place), into);
    append_bytes(at(place), into);
  };
  switch (one.field.kind) {
    case Kind::integer:
      return append_integer(one.cell.integer, into);
    case Kind::real:
      return append_real(one.cell.real, into);
    case Kind::bytes:
    case Kind::text:
      return append_run(one.field.kind, one.cell.place);
    case Kind::list:
      append_array(one.elements.size(), into);
      for (const FieldPlace& element : one.elements) append_run(one.field.elements, element);
      return;
    case Kind::tensor:
      return append_numpy(one.field.dtype.descr(), one.field.shape, at(one.cell.place), into);
  }
}

}  // namespace

void ListPacking::learn(Bytes value) {
  const ViewBytes view = view_of(value);
  if (are_pickles_) {
    for (const LayoutField& one : fields_of_pickle(view, value, ListsOfNumbers::find))
      if (one.numbers) lists_.learn(one.field.name, *one.numbers);
    return;
  }
  for (const MsgpackEntry& entry : parse_map_of_fields(view, 0, value.size(), {}))
    if (const auto list = numbers_in(view, entry, ListsOfNumbers::find))
      lists_.learn(entry.name, *list);
}

std::string ListPacking::pack(std::string_view key, Bytes value) {
  return are_pickles_ ? pack_pickle(key, value) : pack_map(value);
}

std::string ListPacking::pack_pickle(std::string_view key, Bytes value) {
  std::vector<LayoutField> fields = fields_of_pickle(view_of(value), value, ListsOfNumbers::read);
  std::string packed;
  std::size_t count = 0;
  for (LayoutField& one : fields) {
    const std::shared_ptr<NumberList> list = one.numbers;
    const bool is_array = list && lists_.fit(one.field.name, *list);
    if (is_array) {
      one = array_field(one.field.name, DType::parse(list->dtype), list->shape,
                        {.offset = 0, .length = list->data.size()})
                .value();
      one.may_lack = true;
    }
    if (one.field.is_optional) continue;
    ++count;
    append_text(one.field.name, packed);
    append_value(one, is_array ? as_bytes(list->data) : value, packed);
  }
  common_.add(fields, key);
  std::string map;
  append_map(count, map);
  return map + packed;
}

std::string ListPacking::pack_map(Bytes value) const {
  const ViewBytes view = view_of(value);
  const std::vector<MsgpackEntry> entries = parse_map_of_fields(view, 0, value.size(), {});
  std::string packed;
  append_map(entries.size(), packed);
  for (const MsgpackEntry& entry : entries) {
    append_text(entry.name, packed);
    std::optional<NumberList> list = numbers_in(view, entry, ListsOfNumbers::read);
    if (list && lists_.fit(entry.name, *list)) {
      append_numpy(list->dtype, list->shape, list->data, packed);
    } else {
      const std::uint64_t end = entry.offset + entry.length;
      packed += as_text(value.subspan(entry.value_offset, end - entry.value_offset));
    }
  }
  return packed;
}

}  // namespace shale::layouts
