#include "formats/lmdb/lmdb_pickled.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "shale/base/error.hpp"
#include "shale/base/printable.hpp"
#include "shale/wire/pickle_reader.hpp"

namespace shale::lmdb {
namespace {

using Value = PickleValue;

// NumPy 2 has its modules under numpy._core.
constexpr std::string_view kReconstruct[] = {"numpy.core.multiarray _reconstruct",
                                             "numpy._core.multiarray _reconstruct"};
constexpr std::string_view kFromBuffer[] = {"numpy.core.numeric _frombuffer",
                                            "numpy._core.numeric _frombuffer"};
constexpr std::string_view kScalar[] = {"numpy.core.multiarray scalar",
                                        "numpy._core.multiarray scalar"};
constexpr std::string_view kDType = "numpy dtype";
constexpr std::string_view kGlobals[] = {kReconstruct[0], kReconstruct[1], kFromBuffer[0],
                                         kFromBuffer[1],  kScalar[0],      kScalar[1],
                                         kDType,          "numpy ndarray"};
constexpr PickleLimits kLimits = {.values = 8'192, .depth = 16, .text_bytes = 65'536};
constexpr std::uint64_t kLongestName = 4'096;

bool is_call_of(const Value& value, std::span<const std::string_view> names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return value.is_call_of(name); });
}

bool is_run(const Value& value) {
  return value.is(PickleKind::bytes) || value.is(PickleKind::text);
}

bool is_sequence(const Value& value) {
  return value.is(PickleKind::list) || value.is(PickleKind::tuple);
}

struct PickledArray {
  DType dtype;
  std::vector<std::uint64_t> shape;
  FieldPlace data;
};

class ValueParser {
 public:
  ValueParser(const ViewBytes& view, std::uint64_t begin, std::string_view where)
      : view_(view), begin_(begin), where_(where) {}

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

  [[nodiscard]] std::vector<LayoutField> components(const Value& root, bool may_be_dict) const {
    std::vector<LayoutField> fields;
    const bool is_dict = may_be_dict && root.is(PickleKind::dict);
    if (!is_dict && !is_sequence(root)) throw refused(root, "a list of fields");
    const std::size_t count = is_dict ? root.entries() : root.size();
    if (count > kMostFields) throw refused(root, "at most 1024 fields");
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<std::string> key = is_dict ? name_in(root.key(i)) : std::nullopt;
      if (is_dict && !key) throw refused(root.key(i), "the name of a field");
      const std::string name = key ? *key : fmt::format("field{}", i);
      fields.push_back(field(name, is_dict ? root.value(i) : root[i]));
    }
    if (!is_dict) name_image_and_label(fields);
    return fields;
  }

 private:
  [[nodiscard]] Error refused(const Value& found, std::string_view expected) const {
    return Error(Code::unsupported, "the value has {} ({}), expected {}",
                 shale::name_of(found.kind()),
                 found.is(PickleKind::call) ? found.name() : "pickled", expected)
        .at(where_, is_run(found) ? found.offset() : begin_);
  }

  // A short string. Those of Python 2 are bytes.
  [[nodiscard]] std::optional<std::string> name_in(const Value& value) const {
    if (value.is(PickleKind::text)) return std::string(value.text());
    if (!value.is(PickleKind::bytes) || value.length() > kLongestName) return std::nullopt;
    std::string name(as_text(view_(value.offset(), value.length())));
    return is_utf8(name) ? std::optional(std::move(name)) : std::nullopt;
  }

  [[nodiscard]] LayoutField bytes_field(std::string_view name, const Value& value) const {
    if (!value.is(PickleKind::bytes)) throw refused(value, "bytes");
    return placed_field(name, Kind::bytes, place_of(value));
  }

  static FieldPlace place_of(const Value& run) {
    return {.offset = run.offset(), .length = run.length()};
  }

  [[nodiscard]] LayoutField number_in(std::string_view name, const Value& value) const {
    if (is_call_of(value, kScalar)) {
      LayoutField made = scalar_field(name, value);
      if (made.field.kind == Kind::integer) return made;
    }
    if (!value.is(PickleKind::integer) && !value.is(PickleKind::boolean))
      throw refused(value, "an integer");
    return integer_field(name, value.integer());
  }

  // The number in an array of one.
  [[nodiscard]] LayoutField only_element(const Value& value) const {
    const std::optional<PickledArray> array = array_of(value);
    if (!array || array->data.length != array->dtype.item_bytes())
      throw refused(value, "one label");
    LayoutField made = number_at("label", array->dtype, array->data.offset, value);
    if (made.field.kind != Kind::integer) throw refused(value, "an integer");
    return made;
  }

  [[nodiscard]] LayoutField field(std::string_view name, const Value& value) const {
    if (value.is(PickleKind::bytes)) return bytes_field(name, value);
    if (value.is(PickleKind::integer) || value.is(PickleKind::boolean))
      return number_in(name, value);
    if (is_call_of(value, kScalar)) return scalar_field(name, value);
    if (value.is(PickleKind::real)) return real_field(name, value.real());
    if (value.is(PickleKind::text)) return placed_field(name, Kind::text, place_of(value));
    std::optional<PickledArray> array = array_of(value);
    if (!array) throw refused(value, "bytes, a string, a number or an array");
    // Of its shape's size: array_in() has seen to that.
    return array_field(name, std::move(array->dtype), std::move(array->shape), array->data).value();
  }

  // scalar(dtype, bytes)
  [[nodiscard]] LayoutField scalar_field(std::string_view name, const Value& value) const {
    if (value.size() != 2 || !value[1].is(PickleKind::bytes)) throw refused(value, "a number");
    const DType dtype = dtype_of(value[0]);
    if (value[1].length() != dtype.item_bytes())
      throw refused(value, "a number of its dtype's size");
    return number_at(name, dtype, value[1].offset(), value);
  }

  [[nodiscard]] LayoutField number_at(std::string_view name, const DType& dtype,
                                      std::uint64_t offset, const Value& value) const {
    std::optional<LayoutField> made = number_field(name, dtype, view_, offset);
    if (!made) throw refused(value, "a number of up to 64 bits");
    return std::move(*made);
  }

  // dtype('i8', ...) with the state (version, byte order, ...)
  [[nodiscard]] DType dtype_of(const Value& value) const {
    const bool is_dtype = value.is_call_of(kDType) && value.size() >= 1 && value.state() &&
                          value.state()->is(PickleKind::tuple) && value.state()->size() >= 2;
    if (!is_dtype) throw refused(value, "a dtype");
    const std::optional<std::string> type = name_in(value[0]), order = name_in((*value.state())[1]);
    if (!type || !order) throw refused(value, "a dtype");
    if (*order == ">") throw refused(value, "a dtype that is not big-endian");
    try {
      return DType::parse(fmt::format("{}{}", *order == "<" ? "<" : "|", *type));
    } catch (const Error&) {
      throw refused(value, "a dtype of numbers");
    }
  }

  // Nullopt for what is not an array.
  [[nodiscard]] std::optional<PickledArray> array_of(const Value& value) const {
    if (is_call_of(value, kFromBuffer)) {
      // _frombuffer(data, dtype, shape, order)
      if (value.size() != 4 || !value[3].is(PickleKind::text) || value[3].text() != "C")
        throw refused(value, "an array in C order");
      return array_in(value, value[1], value[2], value[0]);
    }
    if (!is_call_of(value, kReconstruct)) return std::nullopt;
    // _reconstruct(ndarray, (0,), b'b') with the state (1, shape, dtype, is_fortran, data)
    const std::optional<Value> state = value.state();
    if (!state || !state->is(PickleKind::tuple) || state->size() != 5)
      throw refused(value, "an array with its contents");
    const Value is_fortran = (*state)[3];
    if (!is_fortran.is(PickleKind::boolean) || is_fortran.integer() != 0)
      throw refused(value, "an array in C order");
    return array_in(value, (*state)[2], (*state)[1], (*state)[4]);
  }

  [[nodiscard]] PickledArray array_in(const Value& array, const Value& dtype, const Value& shape,
                                      const Value& data) const {
    if (!shape.is(PickleKind::tuple) || !data.is(PickleKind::bytes))
      throw refused(array, "an array of numbers");
    Field field{.name = "array", .kind = Kind::tensor, .dtype = dtype_of(dtype)};
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (!shape[i].is(PickleKind::integer) || shape[i].integer() < 0)
        throw refused(shape, "the sides of an array");
      field.shape.push_back(static_cast<std::uint64_t>(shape[i].integer()));
    }
    if (field.tensor_bytes() != data.length()) throw refused(array, "an array of its shape's size");
    return {.dtype = std::move(field.dtype),
            .shape = std::move(field.shape),
            .data = {.offset = data.offset(), .length = data.length()}};
  }

  const ViewBytes& view_;
  std::uint64_t begin_;
  std::string_view where_;
};

}  // namespace

std::vector<LayoutField> parse_pickled_value(PickledForm form, const StoredValue& value) {
  const Pickle pickle =
      read_pickle(value.view, value.begin, value.length, value.where, kGlobals, kLimits);
  const ValueParser parser(value.view, value.begin, value.where);
  if (form == PickledForm::pair) return parser.pair(pickle.root());
  if (form == PickledForm::batch) return parser.collated(pickle.root());
  return parser.components(pickle.root(), form == PickledForm::list_or_dict);
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

}  // namespace shale::lmdb
