#include "shale/layouts/map_value.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"
#include "shale/data/field_name.hpp"
#include "shale/format/finding_draft.hpp"

namespace shale::layouts {
namespace {

constexpr std::uint64_t kMaxDTypeBytes = DType::kMostTextBytes;
constexpr std::size_t kMostDepth = 16;

// A map in a map: what it stands for.
class InnerMap {
 public:
  InnerMap(const ViewBytes& view, const MsgpackEntry& outer, std::string_view where)
      : view_(view),
        outer_(outer),
        entries_(parse_msgpack_map(view, outer.offset, outer.length, where)) {}

  [[nodiscard]] std::vector<MsgpackEntry>& entries() { return entries_; }

  [[nodiscard]] bool is_array() const {
    return find("data") != nullptr && find("shape") != nullptr &&
           (find("dtype") != nullptr || find("nd") != nullptr);
  }

  // {"nd": false, "type": "<f4", "data": bin}: msgpack_numpy's.
  [[nodiscard]] std::optional<MsgpackEntry> number() const {
    const MsgpackEntry *const nd = find("nd"), *const type = find("type"),
                              *const data = find("data");
    const bool is_number = entries_.size() == 3 && nd != nullptr &&
                           nd->type == MsgpackType::boolean && nd->integer == 0 &&
                           type != nullptr && type->is_run() && type->length <= kMaxDTypeBytes &&
                           data != nullptr && data->is_run();
    if (!is_number) return std::nullopt;
    const DType dtype = DType::parse(as_text(view_(type->offset, type->length)));
    if (dtype.item_bytes() != data->length) return std::nullopt;
    const auto found = number_field(outer_.name, dtype, view_, data->offset);
    if (!found) return std::nullopt;
    MsgpackEntry entry = outer_;
    const bool is_integer = found->field.kind == Kind::integer;
    entry.type = is_integer ? MsgpackType::integer : MsgpackType::real;
    entry.integer = found->cell.integer;
    entry.real = found->cell.real;
    return entry;
  }

 private:
  [[nodiscard]] const MsgpackEntry* find(std::string_view name) const {
    return find_entry(entries_, name);
  }

  const ViewBytes& view_;
  const MsgpackEntry& outer_;
  std::vector<MsgpackEntry> entries_;
};

class Flattening {
 public:
  Flattening(const ViewBytes& view, std::string_view where) : view_(view), where_(where) {}

  void add(MsgpackEntry&& entry, std::size_t depth) {
    if (entry.type == MsgpackType::map && depth < kMostDepth && take_inner(entry, depth)) return;
    names_bytes_ += entry.name.size();
    if (fields_.size() == kMaxMapEntries || names_bytes_ > kMaxMapNamesBytes) {
      throw Error(Code::limit,
                  "more than {} fields, or than {} bytes of their names, in the maps of a map",
                  kMaxMapEntries, kMaxMapNamesBytes)
          .at(where_, entry.value_offset);
    }
    fields_.push_back(std::move(entry));
  }
  [[nodiscard]] std::vector<MsgpackEntry> take() && { return std::move(fields_); }

 private:
  // False for an array, and for what stays as it is: names that are not strings, for one.
  bool take_inner(const MsgpackEntry& entry, std::size_t depth) try {
    InnerMap inner(view_, entry, where_);
    if (inner.is_array()) return false;
    if (std::optional<MsgpackEntry> number = inner.number()) {
      add(std::move(*number), depth);
      return true;
    }
    for (MsgpackEntry& one : inner.entries()) {
      one.name = field_name_of(entry.name + '_' + one.name);
      add(std::move(one), depth + 1);
    }
    return true;
  } catch (const Error& error) {
    if (error.code() == Code::io || error.code() == Code::limit) throw;
    return false;
  }

  const ViewBytes& view_;
  std::string_view where_;
  std::vector<MsgpackEntry> fields_;
  std::uint64_t names_bytes_ = 0;
};

// The values of an array, one in the other.
class NumberWalk {
 public:
  NumberWalk(const ViewBytes& view, const MsgpackEntry& array, ListsOfNumbers lists)
      : view_(view), cursor_(view, array.offset + array.length, {}), lists_(lists) {}

  [[nodiscard]] std::optional<NumberList> numbers_at(std::uint64_t offset) {
    const MsgpackHeader header = cursor_.read(offset);
    switch (header.type) {
      case MsgpackType::integer:
      case MsgpackType::boolean:
        return list_of_integer(header.integer);
      case MsgpackType::real:
        return list_of_real(header.real);
      case MsgpackType::map:
        return array_at(header);
      case MsgpackType::array:
        break;
      default:
        return std::nullopt;
    }
    NumberStack stack;
    std::uint64_t at = header.contents;
    for (std::uint64_t i = 0; i < header.length; ++i) {
      std::optional<NumberList> one = numbers_at(at);
      if (!one || !stack.add(std::move(*one))) return std::nullopt;
      at = cursor_.end_of(cursor_.read(at));
    }
    return std::move(stack).finish();
  }

 private:
  [[nodiscard]] std::optional<NumberList> array_at(const MsgpackHeader& header) {
    MsgpackEntry map;
    map.type = header.type;
    map.offset = header.begin;
    map.length = cursor_.end_of(header) - header.begin;
    map.count = static_cast<std::uint32_t>(header.length);
    std::optional<TensorValue> tensor = read_tensor(view_, map, false);
    if (!tensor) return std::nullopt;
    const Field field{.name = "array",
                      .kind = Kind::tensor,
                      .dtype = DType::parse(tensor->dtype),
                      .shape = tensor->shape};
    if (!field.takes_tensor(field.shape, tensor->data.length)) return std::nullopt;
    NumberList list{.dtype = field.dtype.descr(), .shape = std::move(tensor->shape), .data = {}};
    if (lists_ == ListsOfNumbers::read && tensor->data.length > 0)
      list.data = as_text(view_(tensor->data.offset, tensor->data.length));
    return list;
  }

  const ViewBytes& view_;
  MsgpackCursor cursor_;
  ListsOfNumbers lists_;
};

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

std::vector<MsgpackEntry> parse_map_of_fields(const ViewBytes& view, std::uint64_t begin,
                                              std::uint64_t length, std::string_view where) {
  std::vector<MsgpackEntry> map = parse_msgpack_map(view, begin, length, where);
  if (std::ranges::find(map, MsgpackType::map, &MsgpackEntry::type) == map.end()) return map;
  Flattening flat(view, where);
  for (MsgpackEntry& entry : map) flat.add(std::move(entry), 0);
  return std::move(flat).take();
}

std::optional<NumberList> numbers_in(const ViewBytes& view, const MsgpackEntry& entry,
                                     ListsOfNumbers lists) {
  if (entry.type != MsgpackType::array) return std::nullopt;
  try {
    return NumberWalk(view, entry, lists).numbers_at(entry.offset);
  } catch (const Error& error) {
    if (error.code() == Code::io) throw;
    return std::nullopt;
  }
}

bool looks_like_map(const ViewBytes& view, std::uint64_t begin, std::uint64_t length) {
  if (length == 0) return false;
  const auto tag = std::to_integer<std::uint8_t>(view(begin, 1)[0]);
  return (tag > 0x80 && tag <= 0x8f) || tag == 0xde || tag == 0xdf;
}

const MsgpackEntry* find_entry(const std::vector<MsgpackEntry>& map, std::string_view name) {
  const auto found = std::find_if(map.begin(), map.end(),
                                  [&](const MsgpackEntry& entry) { return entry.name == name; });
  return found != map.end() ? &*found : nullptr;
}

bool is_map_of_fields(const StoredValue& value) {
  try {
    (void)parse_map_of_fields(value.view, value.begin, value.length, value.where);
    return true;
  } catch (const Error& error) {
    if (!is_about_bytes(error)) throw;
    return false;
  }
}

}  // namespace shale::layouts
