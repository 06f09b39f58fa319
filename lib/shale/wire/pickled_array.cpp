#include "shale/wire/pickled_array.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "shale/base/bytes.hpp"
#include "shale/base/printable.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/stored_tensor.hpp"

namespace shale {
namespace {

// NumPy 2 has its modules under numpy._core.
constexpr std::string_view kReconstruct[] = {"numpy.core.multiarray _reconstruct",
                                             "numpy._core.multiarray _reconstruct"};
constexpr std::string_view kFromBuffer[] = {"numpy.core.numeric _frombuffer",
                                            "numpy._core.numeric _frombuffer"};
constexpr std::string_view kScalar[] = {"numpy.core.multiarray scalar",
                                        "numpy._core.multiarray scalar"};
constexpr std::string_view kDType = "numpy dtype";
constexpr std::string_view kRebuiltTensor = "torch._utils _rebuild_tensor_v2",
                           kRebuiltParameter = "torch._utils _rebuild_parameter",
                           kLoadFromBytes = "torch.storage _load_from_bytes";
constexpr std::string_view kArrayGlobals[] = {
    kReconstruct[0], kReconstruct[1],   kFromBuffer[0], kFromBuffer[1],
    kScalar[0],      kScalar[1],        kDType,         "numpy ndarray",
    kRebuiltTensor,  kRebuiltParameter, kLoadFromBytes, "collections OrderedDict"};
constexpr std::string_view kStorageGlobals[] = {
    "torch BoolStorage",         "torch ByteStorage",     "torch CharStorage",
    "torch ShortStorage",        "torch IntStorage",      "torch LongStorage",
    "torch HalfStorage",         "torch FloatStorage",    "torch DoubleStorage",
    "torch ComplexFloatStorage", "torch BFloat16Storage", "torch ComplexDoubleStorage"};
constexpr std::uint64_t kLongestName = 4'096;
constexpr std::size_t kMostAxes = 64;

// What torch.save() begins with: the pickles of its number, of the protocol and of the machine,
// which is little-endian. The same since 2017.
constexpr std::string_view kSavedHead(
    "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.\x80\x02}q\x00("
    "X\x10\x00\x00\x00protocol_versionq\x01M\xe9\x03X\x0d\x00\x00\x00little_endianq\x02\x88"
    "X\x0a\x00\x00\x00type_sizesq\x03}q\x04(X\x05\x00\x00\x00shortq\x05K\x02"
    "X\x03\x00\x00\x00intq\x06K\x04X\x04\x00\x00\x00longq\x07K\x04uu.",
    137);
constexpr PickleLimits kStorageLimits{.values = 64, .depth = 4, .text_bytes = 4'096};

bool is_call_of(const PickleValue& value, std::span<const std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return value.is_call_of(name); });
}

bool is_run(const PickleValue& value) {
  return value.is(PickleKind::bytes) || value.is(PickleKind::text);
}

// C order, where sides of 1 may have any stride.
bool are_plain(std::span<const std::uint64_t> strides, std::span<const std::uint64_t> shape) {
  std::uint64_t step = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 0) return true;
    if (shape[axis] == 1) continue;
    if (strides[axis] != step) return false;
    step *= shape[axis];
  }
  return true;
}

}  // namespace

struct PickledArrays::Storage {
  const TensorType* type;
  std::uint64_t offset, elements;
};

std::span<const std::string_view> pickled_array_globals() { return kArrayGlobals; }

std::optional<std::vector<std::byte>> latin1_bytes(std::string_view text) {
  std::vector<std::byte> bytes;
  bytes.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned code = static_cast<std::uint8_t>(text[i]);
    if (code >= 0x80) {
      // U+0080 to U+00FF are c2 80 to c3 bf.
      if ((code != 0xc2 && code != 0xc3) || ++i == text.size()) return std::nullopt;
      code = (code & 3U) << 6U | (static_cast<std::uint8_t>(text[i]) & 0x3fU);
    }
    bytes.push_back(static_cast<std::byte>(code));
  }
  return bytes;
}

Error PickledArrays::refused(const PickleValue& found, std::string_view expected) const {
  return Error(Code::unsupported, "the value has {} ({}), expected {}",
               shale::name_of(found.kind()), found.is(PickleKind::call) ? found.name() : "pickled",
               expected)
      .at(where_, is_run(found) ? found.offset() : begin_);
}

std::optional<std::string> PickledArrays::name_in(const PickleValue& value) const {
  if (value.is(PickleKind::text)) return std::string(value.text());
  if (!value.is(PickleKind::bytes) || value.length() > kLongestName) return std::nullopt;
  std::string name(as_text(view_(value.offset(), value.length())));
  return is_utf8(name) ? std::optional(std::move(name)) : std::nullopt;
}

std::optional<PickledArray> PickledArrays::scalar_of(const PickleValue& value) const {
  if (!is_call_of(value, kScalar)) return std::nullopt;
  if (value.size() != 2 || !value[1].is(PickleKind::bytes)) throw refused(value, "a number");
  StoredDType type = dtype_of(value[0]);
  if (!type.swaps.empty()) throw refused(value[0], "a dtype that is not big-endian");
  PickledArray made{std::move(type.dtype), {}, value[1].offset(), value[1].length()};
  if (made.length != made.dtype.item_bytes()) throw refused(value, "a number of its dtype's size");
  return made;
}

std::optional<PickledArray> PickledArrays::array_of(const PickleValue& value) const {
  if (value.is_call_of(kRebuiltTensor)) return tensor_in(value);
  if (value.is_call_of(kRebuiltParameter) && value.size() > 0 &&
      value[0].is_call_of(kRebuiltTensor))
    return tensor_in(value[0]);
  if (is_call_of(value, kFromBuffer)) {
    const bool has_order = value.size() == 4 && value[3].is(PickleKind::text);
    const bool is_fortran = has_order && value[3].text() == "F";
    if (!takes_order(has_order && value[3].text() == "C", is_fortran))
      throw refused(value, "an array in C order");
    PickledArray array = array_in(value, value[1], value[2], value[0]);
    array.is_fortran = is_fortran;
    return array;
  }
  if (!is_call_of(value, kReconstruct)) return std::nullopt;
  const std::optional<PickleValue> state = value.state();
  if (!state || !state->is(PickleKind::tuple) || state->size() != 5)
    throw refused(value, "an array with its contents");
  const PickleValue order = (*state)[3];
  const bool has_order = order.is(PickleKind::boolean);
  const bool is_fortran = has_order && order.integer() != 0;
  if (!takes_order(has_order && !is_fortran, is_fortran))
    throw refused(value, "an array in C order");
  PickledArray array = array_in(value, (*state)[2], (*state)[1], (*state)[4]);
  array.is_fortran = is_fortran;
  return array;
}

bool PickledArrays::takes_order(bool is_c, bool is_fortran) const {
  return is_c || (is_fortran && orders_ == PickledOrders::all);
}

StoredDType PickledArrays::dtype_of(const PickleValue& value) const {
  const bool is_dtype = value.is_call_of(kDType) && value.size() >= 1 && value.state() &&
                        value.state()->is(PickleKind::tuple) && value.state()->size() >= 2;
  if (!is_dtype) throw refused(value, "a dtype");
  const std::optional<std::string> type = name_in(value[0]), order = name_in((*value.state())[1]);
  if (!type || !order) throw refused(value, "a dtype");
  const bool is_big = *order == ">";
  if (is_big && orders_ != PickledOrders::all)
    throw refused(value, "a dtype that is not big-endian");
  try {
    if (is_big) return parse_stored_dtype('>' + *type);
    return {DType::parse((*order == "<" ? '<' : '|') + *type), {}};
  } catch (const Error&) {
    throw refused(value, "a dtype of numbers");
  }
}

std::vector<std::uint64_t> PickledArrays::numbers_in(const PickleValue& array,
                                                     const PickleValue& numbers) const {
  if (!numbers.is(PickleKind::tuple) || numbers.size() > kMostAxes)
    throw refused(array, "an array of numbers");
  std::vector<std::uint64_t> all;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (!numbers[i].is(PickleKind::integer) || numbers[i].integer() < 0)
      throw refused(numbers, "the sides of an array");
    all.push_back(static_cast<std::uint64_t>(numbers[i].integer()));
  }
  return all;
}

PickledArray PickledArrays::array_in(const PickleValue& array, const PickleValue& dtype,
                                     const PickleValue& shape, const PickleValue& data) const {
  const bool is_latin1 =
      data.is_call_of(kPickledEncode) && data.size() == 2 && data[0].is(PickleKind::text);
  if (!is_latin1 && !data.is(PickleKind::bytes)) throw refused(array, "an array of numbers");
  const PickleValue run = is_latin1 ? data[0] : data;
  std::uint64_t length = run.length();
  if (is_latin1) {
    const auto bytes = latin1_bytes(run.text());
    if (!bytes) throw refused(array, "an array of bytes");
    length = bytes->size();
  }
  StoredDType type = dtype_of(dtype);
  const Field field{.name = "array",
                    .kind = Kind::tensor,
                    .dtype = std::move(type.dtype),
                    .shape = numbers_in(array, shape)};
  if (!field.takes_tensor(field.shape, length))
    throw refused(array, "an array of its shape's size");
  return {.dtype = field.dtype,
          .shape = field.shape,
          .offset = run.offset(),
          .length = run.length(),
          .is_latin1 = is_latin1,
          .swaps = std::move(type.swaps)};
}

PickledArray PickledArrays::tensor_in(const PickleValue& tensor) const {
  if (tensor.size() < 4 || !tensor[1].is(PickleKind::integer) || tensor[1].integer() < 0)
    throw refused(tensor, "a tensor of PyTorch");
  const Storage storage = storage_in(tensor);
  const auto first = static_cast<std::uint64_t>(tensor[1].integer());
  Field field{.name = "tensor",
              .kind = Kind::tensor,
              .dtype = DType::parse(storage.type->descr),
              .shape = numbers_in(tensor, tensor[2])};
  const std::vector<std::uint64_t> strides = numbers_in(tensor, tensor[3]);
  if (strides.size() != field.shape.size()) throw refused(tensor, "a stride for each side");
  const std::uint64_t bytes = field.tensor_bytes(), item = storage.type->item_bytes;
  if (first > storage.elements || bytes > (storage.elements - first) * item)
    throw refused(tensor, "a tensor that lies in its storage");
  if (!are_plain(strides, field.shape)) throw refused(tensor, "a tensor in C order");
  return {std::move(field.dtype), std::move(field.shape), storage.offset + first * item, bytes};
}

PickledArrays::Storage PickledArrays::storage_in(const PickleValue& tensor) const {
  const PickleValue call = tensor[0];
  const bool is_saved = call.is_call_of(kLoadFromBytes) && call.size() == 1 &&
                        call[0].is(PickleKind::bytes) && call[0].length() > kSavedHead.size();
  if (!is_saved || as_text(view_(call[0].offset(), kSavedHead.size())) != kSavedHead)
    throw refused(tensor, "a tensor whose elements are in the pickle");
  const std::uint64_t end = call[0].offset() + call[0].length(),
                      head_end = call[0].offset() + kSavedHead.size();
  const LeadingPickle leading =
      read_leading_pickle(view_, head_end, end - head_end, where_, kStorageGlobals, kStorageLimits);
  const PickleValue root = leading.pickle.root();
  const bool is_storage = root.is(PickleKind::persistent_id) && root[0].is(PickleKind::tuple) &&
                          root[0].size() >= 5 && root[0][1].is(PickleKind::global) &&
                          root[0][4].is(PickleKind::integer) && root[0][4].integer() >= 0;
  if (!is_storage) throw refused(tensor, "a tensor with a storage");
  const std::string_view name = root[0][1].name();
  const TensorType* const type = tensor_type_of_storage(name.substr(name.find(' ') + 1));
  if (type == nullptr) throw refused(tensor, "a tensor of numbers");
  const auto elements = static_cast<std::uint64_t>(root[0][4].integer());
  // Behind the pickles: how many there are, and they.
  constexpr std::uint64_t kCountBytes = sizeof(std::uint64_t);
  const std::uint64_t left = end - leading.end;
  if (left < kCountBytes || elements > (left - kCountBytes) / type->item_bytes)
    throw refused(tensor, "a storage of as many elements as it says");
  const std::uint64_t offset = end - elements * type->item_bytes;
  ByteReader count(view_(offset - kCountBytes, kCountBytes));
  if (count.read_u64() != elements)
    throw refused(tensor, "a storage of as many elements as it says");
  return {type, offset, elements};
}

}  // namespace shale
