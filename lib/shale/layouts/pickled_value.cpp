#include "shale/layouts/pickled_value.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/field_name.hpp"
#include "shale/format/finding_draft.hpp"
#include "shale/wire/pickle_reader.hpp"
#include "shale/wire/pickled_array.hpp"

namespace shale::layouts {
namespace {

using Value = PickleValue;

// Objects of PyTorch Geometric have their attributes as their state: those of version 1 a dict of
// them; those of version 2 a storage, whose state has them as its mapping.
// Source: torch_geometric/data/data.py, torch_geometric/data/storage.py.
constexpr std::string_view kGraphData = "torch_geometric.data.data Data",
                           kStorage = "torch_geometric.data.storage GlobalStorage";
constexpr std::string_view kDataGlobals[] = {kGraphData, kStorage,
                                             "torch_geometric.data.data DataEdgeAttr",
                                             "torch_geometric.data.data DataTensorAttr"};
// Dicts by other names.
constexpr std::string_view kDicts[] = {"collections OrderedDict", "collections defaultdict"};
constexpr PickleLimits kLimits = {
    .values = 8'192, .depth = 16, .text_bytes = 65'536, .takes_objects = true};
// Of what other data is in the way of none but itself.
constexpr PickleLimits kLimitsOfFields = {.values = 8'192,
                                          .depth = 16,
                                          .text_bytes = 65'536,
                                          .takes_objects = true,
                                          .takes_others = true};

// Pickles have views of them.
std::span<const std::string_view> all_globals() {
  static const std::vector<std::string_view> names = [] {
    const std::span<const std::string_view> arrays = pickled_array_globals();
    std::vector<std::string_view> all(arrays.begin(), arrays.end());
    all.insert(all.end(), std::begin(kDataGlobals), std::end(kDataGlobals));
    all.insert(all.end(), std::begin(kDicts), std::end(kDicts));
    return all;
  }();
  return names;
}

bool is_dict(const Value& value) {
  return value.is(PickleKind::dict) ||
         std::ranges::any_of(kDicts, [&](std::string_view name) { return value.is_call_of(name); });
}

// The value of this name in a dict; nullopt if there is none.
std::optional<Value> entry_of(const std::optional<Value>& dict, std::string_view name) {
  if (!dict || !dict->is(PickleKind::dict)) return std::nullopt;
  for (std::size_t i = 0; i < dict->entries(); ++i) {
    if (dict->key(i).is(PickleKind::text) && dict->key(i).text() == name) return dict->value(i);
  }
  return std::nullopt;
}

// Of a class of another library: the class itself is never needed.
bool is_object(const Value& value) {
  if (!value.is(PickleKind::call) || is_dict(value)) return false;
  const std::span<const std::string_view> arrays = pickled_array_globals();
  return std::ranges::find(arrays, value.name()) == arrays.end();
}

// The attributes of an object, as a dict; any other value as it is.
Value attributes_of(const Value& value) {
  if (!value.is_call_of(kGraphData)) {
    if (!is_object(value) || !value.state()) return value;
    const Value state = *value.state();
    // With slots: the dict, if there is one, and what is in the slots.
    const bool has_slots = state.is(PickleKind::tuple) && state.size() == 2;
    return has_slots && state[0].is(PickleKind::none) ? state[1] : state;
  }
  const std::optional<Value> state = value.state(), store = entry_of(state, "_store");
  if (store && store->is_call_of(kStorage))
    return entry_of(store->state(), "_mapping").value_or(value);
  return state.value_or(value);
}

bool is_sequence(const Value& value) {
  return value.is(PickleKind::list) || value.is(PickleKind::tuple);
}

class ValueParser {
 public:
  ValueParser(const StoredValue& value, ListsOfNumbers lists)
      : view_(value.view),
        begin_(value.begin),
        where_(value.where),
        lists_(lists),
        arrays_(view_, begin_, where_) {}

  // (bytes, int)
  [[nodiscard]] std::vector<LayoutField> pair(const Value& root) const {
    if (!root.is(PickleKind::tuple) || root.size() != 2)
      throw refused(root, "a tuple of an image and a label");
    return {bytes_field("image", root[0]), number_in("label", root[1])};
  }

  // ([bytes], array([int]))
  [[nodiscard]] std::vector<LayoutField> collated(const Value& root) const {
    if (!root.is(PickleKind::tuple) || root.size() != 2 || !is_sequence(root[0]) ||
        root[0].size() != 1)
      throw refused(root, "a tuple of a list of one image, and of labels");
    LayoutField label = is_sequence(root[1]) && root[1].size() == 1 ? number_in("label", root[1][0])
                                                                    : only_element(root[1]);
    return {bytes_field("image", root[0][0]), std::move(label)};
  }

  [[nodiscard]] std::vector<LayoutField> components(const Value& object, bool may_be_dict) const {
    const Value root = may_be_dict ? attributes_of(object) : object;
    std::vector<LayoutField> fields;
    if (may_be_dict && is_dict(root)) {
      add_entries(fields, "", root);
      return fields;
    }
    if (root.is(PickleKind::other))
      throw Error(Code::unsupported, "{}", root.name()).at(where_, begin_);
    if (!is_sequence(root)) throw refused(root, "a list of fields");
    if (root.size() > kMostFields) throw refused(root, "at most 1024 fields");
    for (std::size_t i = 0; i < root.size(); ++i) {
      fields.push_back(field(fmt::format("field{}", i), root[i]));
      if (!fields.back().fault.empty()) throw not_held(fields.back().field.name, root[i]);
    }
    name_image_and_label(fields);
    return fields;
  }

 private:
  // A dict in a dict, or the attributes of an object in it, are fields of both names.
  void add_entries(std::vector<LayoutField>& fields, const std::string& before,
                   const Value& dict) const {
    for (std::size_t i = 0; i < dict.entries(); ++i) {
      const std::optional<std::string> key = name_in(dict.key(i));
      if (!key) throw refused(dict.key(i), "the name of a field");
      const std::string name = field_name_of(before + *key);
      const Value value = attributes_of(dict.value(i));
      if (is_dict(value) && has_names(value)) {
        add_entries(fields, name + '_', value);
        continue;
      }
      if (fields.size() == kMostFields) throw refused(dict, "at most 1024 fields");
      fields.push_back(entry(name, value));
      fields.back().may_lack = true;
    }
  }

  [[nodiscard]] bool has_names(const Value& dict) const {
    for (std::size_t i = 0; i < dict.entries(); ++i) {
      if (!name_in(dict.key(i))) return false;
    }
    return true;
  }

  // What no field can hold stops none of the others.
  [[nodiscard]] LayoutField entry(const std::string& name, const Value& value) const {
    LayoutField none{.field = {.name = name, .is_optional = true}, .cell = {}};
    if (value.is(PickleKind::none)) return none;
    try {
      return field(name, value);
    } catch (const Error& error) {
      if (!is_about_bytes(error)) throw;
      none.fault = error.message();
      return none;
    }
  }

  [[nodiscard]] Error refused(const Value& found, std::string_view expected) const {
    return arrays_.refused(found, expected);
  }
  [[nodiscard]] std::optional<std::string> name_in(const Value& value) const {
    return arrays_.name_in(value);
  }

  [[nodiscard]] LayoutField bytes_field(std::string_view name, const Value& value) const {
    if (!value.is(PickleKind::bytes)) throw refused(value, "bytes");
    return placed_field(name, Kind::bytes, place_of(value));
  }

  static FieldPlace place_of(const Value& run) {
    return {.offset = run.offset(), .length = run.length()};
  }

  [[nodiscard]] LayoutField number_in(std::string_view name, const Value& value) const {
    if (const std::optional<PickledArray> scalar = arrays_.scalar_of(value)) {
      LayoutField made = number_at(name, scalar->dtype, scalar->offset, value);
      if (made.field.kind == Kind::integer) return made;
    }
    if (!value.is(PickleKind::integer) && !value.is(PickleKind::boolean))
      throw refused(value, "an integer");
    return integer_field(name, value.integer());
  }

  // The number in an array of one.
  [[nodiscard]] LayoutField only_element(const Value& value) const {
    const std::optional<PickledArray> array = arrays_.array_of(value);
    if (!array || array->length != array->dtype.item_bytes()) throw refused(value, "one label");
    LayoutField made = number_at("label", array->dtype, array->offset, value);
    if (made.field.kind != Kind::integer) throw refused(value, "an integer");
    return made;
  }

  [[nodiscard]] LayoutField field(std::string_view name, const Value& value) const try {
    return plain_field(name, value);
  } catch (const Error& error) {
    // Of an array: what is wrong with its parts.
    if (!is_about_bytes(error) || error.message().starts_with("field '")) throw;
    Error named(error.code(), "field '{}': {}", printable(name), error.message());
    throw named.at(error.file(), error.offset());
  }

  [[nodiscard]] LayoutField plain_field(std::string_view name, const Value& value) const {
    if (value.is(PickleKind::other))
      throw Error(Code::unsupported, "{}", value.name()).at(where_, begin_);
    if (value.is(PickleKind::bytes)) return bytes_field(name, value);
    if (value.is(PickleKind::integer) || value.is(PickleKind::boolean))
      return number_in(name, value);
    if (const std::optional<PickledArray> scalar = arrays_.scalar_of(value))
      return number_at(name, scalar->dtype, scalar->offset, value);
    if (value.is(PickleKind::real)) return real_field(name, value.real());
    if (value.is(PickleKind::text)) return placed_field(name, Kind::text, place_of(value));
    if (is_list_of(PickleKind::text, value)) return list_field(name, Kind::text, value);
    if (is_list_of(PickleKind::bytes, value)) return list_field(name, Kind::bytes, value);
    std::optional<PickledArray> array = arrays_.array_of(value);
    if (!array && is_sequence(value)) {
      if (std::optional<NumberList> list = numbers_of(value)) {
        return {.field = {.name = std::string(name), .is_optional = true},
                .cell = {},
                .fault = list_fault(name),
                .numbers = std::make_shared<NumberList>(std::move(*list))};
      }
    }
    if (!array) throw not_held(name, value);
    // Of its shape's size: array_of() has seen to that.
    return array_field(name, std::move(array->dtype), std::move(array->shape),
                       {.offset = array->offset, .length = array->length})
        .value();
  }

  [[nodiscard]] Error not_held(std::string_view name, const Value& value) const {
    Error error(
        Code::unsupported,
        "field '{}' is {}, expected bytes, a string, a list of these, a number or an array",
        printable(name),
        is_sequence(value) ? "a list of numbers or of other values" : shale::name_of(value.kind()));
    error.at(where_, begin_);
    return error;
  }

  // Of a number, an array, or a list of what is alike; nullopt for anything else.
  [[nodiscard]] std::optional<NumberList> numbers_of(const Value& value) const {
    if (value.is(PickleKind::integer) || value.is(PickleKind::boolean))
      return list_of_integer(value.integer());
    if (value.is(PickleKind::real)) return list_of_real(value.real());
    if (!is_sequence(value)) {
      std::optional<PickledArray> array = arrays_.scalar_of(value);
      if (!array) array = arrays_.array_of(value);
      if (!array) return std::nullopt;
      NumberList list{.dtype = array->dtype.descr(), .shape = std::move(array->shape), .data = {}};
      if (lists_ == ListsOfNumbers::read && array->length > 0)
        list.data = as_text(view_(array->offset, array->length));
      return list;
    }
    NumberStack stack;
    for (std::size_t i = 0; i < value.size(); ++i) {
      std::optional<NumberList> one = numbers_of(value[i]);
      if (!one || !stack.add(std::move(*one))) return std::nullopt;
    }
    return std::move(stack).finish();
  }

  static bool is_list_of(PickleKind kind, const Value& value) {
    if (!is_sequence(value)) return false;
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (!value[i].is(kind)) return false;
    }
    return true;
  }

  // Nothing of the pickle frames its elements, and one that is there twice lies where it was first:
  // the list is all between the first and the last byte of any of them.
  [[nodiscard]] LayoutField list_field(std::string_view name, Kind elements,
                                       const Value& list) const {
    LayoutField made = placed_field(name, Kind::list, {.offset = begin_});
    made.field.elements = elements;
    std::uint64_t end = begin_;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const FieldPlace& place = made.elements.emplace_back(place_of(list[i]));
      made.cell.place.offset =
          i == 0 ? place.offset : std::min(made.cell.place.offset, place.offset);
      end = std::max(end, place.offset + place.length);
    }
    if (list.size() > 0) made.cell.place.length = end - made.cell.place.offset;
    if (list.size() == 0) made.numbers = std::make_shared<NumberList>(NumberStack().finish());
    made.cell.place.count = static_cast<std::uint32_t>(list.size());
    return made;
  }

  [[nodiscard]] LayoutField number_at(std::string_view name, const DType& dtype,
                                      std::uint64_t offset, const Value& value) const {
    std::optional<LayoutField> made = number_field(name, dtype, view_, offset);
    if (!made) throw refused(value, "a number of up to 64 bits");
    return std::move(*made);
  }

  const ViewBytes& view_;
  std::uint64_t begin_;
  std::string_view where_;
  ListsOfNumbers lists_;
  PickledArrays arrays_;
};

}  // namespace

std::vector<LayoutField> parse_pickled_value(PickledForm form, const StoredValue& value,
                                             ListsOfNumbers lists) {
  // Its memory serves the next value.
  static thread_local Pickle pickle;
  const bool takes_others = form == PickledForm::list_or_dict;
  pickle = read_pickle(value.view, value.begin, value.length, value.where, all_globals(),
                       takes_others ? kLimitsOfFields : kLimits, std::move(pickle));
  const ValueParser parser(value, lists);
  if (form == PickledForm::pair) return parser.pair(pickle.root());
  if (form == PickledForm::batch) return parser.collated(pickle.root());
  return parser.components(pickle.root(), form == PickledForm::list_or_dict);
}

std::string class_of_pickle(const StoredValue& value) {
  const Pickle pickle = read_pickle(value.view, value.begin, value.length, value.where,
                                    all_globals(), kLimitsOfFields);
  if (!is_object(pickle.root())) return {};
  std::string name = printable(pickle.root().name());
  std::ranges::replace(name, ' ', '.');
  return name;
}

std::int64_t parse_pickled_integer(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                                   std::string_view where) {
  const Pickle pickle = read_pickle(view, begin, length, where, {}, kLimits);
  if (!pickle.root().is(PickleKind::integer))
    throw Error(Code::unsupported, "the pickle is {}, not an integer",
                shale::name_of(pickle.root().kind()))
        .at(where, begin);
  return pickle.root().integer();
}

std::uint64_t for_each_pickled_key(const ViewBytes& view, std::uint64_t begin, std::uint64_t length,
                                   std::string_view where, const UsePickledKey& use) {
  const std::uint64_t end = begin + length;
  std::uint64_t at = begin, keys = 0;
  bool is_list = false;
  const auto refused = [&](std::string_view why) {
    return Error(Code::unsupported, "the pickled list of keys {}", why).at(where, at);
  };
  // An opcode's number, little-endian.
  const auto number = [&](std::uint64_t bytes) {
    if (bytes > end - at) throw refused("ends too early");
    std::uint64_t value = 0;
    const Bytes stored = view(at, bytes);
    std::memcpy(&value, stored.data(), stored.size());
    at += bytes;
    return value;
  };
  const auto take_key = [&](std::uint64_t bytes) {
    if (!is_list) throw refused("does not begin with a list");
    if (bytes > end - at) throw refused("claims more bytes than are left");
    use(at, bytes);
    at += bytes;
    ++keys;
  };
  if (length < 2 || number(1) != 0x80) throw refused("does not begin like a pickle");
  (void)number(1);  // the protocol
  while (true) {
    switch (number(1)) {
      case 0x95:  // FRAME
        (void)number(8);
        break;
      case ']':
        if (std::exchange(is_list, true)) throw refused("has a list in the list");
        break;
      case 'q':  // to the memo
        (void)number(1);
        break;
      case 'r':
        (void)number(4);
        break;
      case 0x94:
      case '(':  // the list's elements come, up to an 'e'
      case 'e':
      case 'a':
        break;
      case 'C':
      case 'U':
        take_key(number(1));
        break;
      case 'B':
      case 'T':
        take_key(number(4));
        break;
      case '.':
        if (!is_list || at != end) throw refused("ends too early");
        return keys;
      default:
        --at;
        throw refused("has more than keys of bytes");
    }
  }
}

bool looks_pickled(const ViewBytes& view, std::uint64_t begin, std::uint64_t length) {
  if (length < 4) return false;
  const Bytes head = view(begin, 2);
  const bool begins =
      head[0] == std::byte{0x80} && head[1] >= std::byte{2} && head[1] <= std::byte{5};
  return begins && view(begin + length - 1, 1)[0] == std::byte{'.'};
}

}  // namespace shale::layouts
