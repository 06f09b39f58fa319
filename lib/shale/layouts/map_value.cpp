#include "shale/layouts/map_value.hpp"

#include <algorithm>

namespace shale::layouts {
namespace {

constexpr std::uint64_t kMaxDTypeBytes = DType::kMostTextBytes;

}  // namespace

bool can_hold(const Field& field, const MsgpackEntry& entry, bool is_own) {
  constexpr std::uint64_t kFloat64Bytes = 9;
  using Type = MsgpackType;
  switch (field.kind) {
    case Kind::bytes:
      return is_own ? entry.type == Type::bytes : entry.is_run();
    case Kind::text:
      return entry.type == Type::text;
    case Kind::integer:
      return entry.type == Type::integer || (!is_own && entry.type == Type::boolean);
    case Kind::real:
      return entry.type == Type::real && (!is_own || entry.length == kFloat64Bytes);
    case Kind::tensor:
      return entry.type == Type::map;
    case Kind::list: {
      const Type own = field.elements == Kind::text ? Type::text : Type::bytes;
      return entry.is_array_of(is_own ? bit_of(own) : bit_of(Type::bytes) | bit_of(Type::text));
    }
  }
  return false;
}

std::optional<TensorValue> read_tensor(const ViewBytes& view, const MsgpackEntry& entry,
                                       bool is_own) {
  // Older versions of msgpack-numpy write no "kind".
  if (entry.type != MsgpackType::map || entry.count < 3 || entry.count > 5) return std::nullopt;
  const std::vector<MsgpackEntry> map = parse_msgpack_map(view, entry.offset, entry.length, {});
  const MsgpackEntry* const nd = find_entry(map, "nd");
  const bool is_ragged = nd != nullptr;
  const auto has_names = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::equal(map, names, {}, &MsgpackEntry::name);
  };
  const bool is_in_order = is_ragged ? has_names({"nd", "type", "kind", "shape", "data"})
                                     : has_names({"dtype", "shape", "data"});
  const MsgpackEntry* dtype = find_entry(map, is_ragged ? "type" : "dtype");
  const MsgpackEntry* shape = find_entry(map, "shape");
  const MsgpackEntry* data = find_entry(map, "data");
  if ((is_own && !is_in_order) || dtype == nullptr || shape == nullptr || data == nullptr) {
    return std::nullopt;
  }
  const bool is_array = !is_ragged || (nd->type == MsgpackType::boolean && nd->integer == 1);
  const bool has_types = (is_own ? dtype->type == MsgpackType::text : dtype->is_run()) &&
                         shape->is_array_of(bit_of(MsgpackType::integer)) &&
                         (is_own ? data->type == MsgpackType::bytes : data->is_run());
  const bool is_small = dtype->length <= kMaxDTypeBytes && shape->integers.size() == shape->count;
  const bool is_shape = std::all_of(shape->integers.begin(), shape->integers.end(),
                                    [](std::int64_t side) { return side >= 0; });
  if (!is_array || !has_types || !is_small || !is_shape) return std::nullopt;
  return TensorValue{.dtype = std::string(as_text(view(dtype->offset, dtype->length))),
                     .shape = {shape->integers.begin(), shape->integers.end()},
                     .data = {.offset = data->offset, .length = data->length},
                     .is_ragged = is_ragged};
}

const MsgpackEntry* find_entry(const std::vector<MsgpackEntry>& map, std::string_view name) {
  const auto found = std::find_if(map.begin(), map.end(),
                                  [&](const MsgpackEntry& entry) { return entry.name == name; });
  return found != map.end() ? &*found : nullptr;
}

}  // namespace shale::layouts
