#include "shale/data/stored_tensor.hpp"

#include <algorithm>

namespace shale {
namespace {

constexpr TensorType kTypes[] = {
    {"bool", "|b1", "BoolStorage", "BOOL", 1},
    {"uint8", "|u1", "ByteStorage", "U8", 1},
    {"int8", "|i1", "CharStorage", "I8", 1},
    {"int16", "<i2", "ShortStorage", "I16", 2},
    {"int32", "<i4", "IntStorage", "I32", 4},
    {"int64", "<i8", "LongStorage", "I64", 8},
    {"float16", "<f2", "HalfStorage", "F16", 2},
    {"float32", "<f4", "FloatStorage", "F32", 4},
    {"float64", "<f8", "DoubleStorage", "F64", 8},
    {"complex64", "<c8", "ComplexFloatStorage", "C64", 8},
    {"complex128", "<c16", "ComplexDoubleStorage", "", 16},
    {"uint16", "<u2", "", "U16", 2},
    {"uint32", "<u4", "", "U32", 4},
    {"uint64", "<u8", "", "U64", 8},
    // NumPy has none of these: to it each is one column of raw bytes, by whose name it is known.
    {"bfloat16", "[('bfloat16', '|V2')]", "BFloat16Storage", "BF16", 2},
    {"float8_e5m2", "[('float8_e5m2', '|V1')]", "", "F8_E5M2", 1},
    {"float8_e4m3fn", "[('float8_e4m3fn', '|V1')]", "", "F8_E4M3", 1},
    {"float8_e8m0fnu", "[('float8_e8m0fnu', '|V1')]", "", "F8_E8M0", 1},
    {"float8_e5m2fnuz", "[('float8_e5m2fnuz', '|V1')]", "", "F8_E5M2FNUZ", 1},
    {"float8_e4m3fnuz", "[('float8_e4m3fnuz', '|V1')]", "", "F8_E4M3FNUZ", 1},
    // Of ml_dtypes alone.
    {"", "[('float8_e4m3b11fnuz', '|V1')]", "", "", 1},
    {"", "[('float8_e4m3', '|V1')]", "", "", 1},
    {"", "[('float8_e3m4', '|V1')]", "", "", 1},
    {"complex32", "[('complex32', '|V4')]", "", "", 4},
};

constexpr std::string_view kRawColumn = "[('";

template <class Member>
const TensorType* find_type(Member member, std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, member);
  return name.empty() || found == std::end(kTypes) ? nullptr : found;
}

// The strides of an axis of one element mean nothing; neither do any of no elements.
template <class Axes>
bool run_on(const StoredTensor& tensor, Axes axes) {
  if (std::ranges::find(tensor.shape, std::uint64_t{0}) != tensor.shape.end()) return true;
  std::uint64_t expected = 1;
  for (const std::size_t axis : axes) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != expected) return false;
    expected *= tensor.shape[axis];
  }
  return true;
}

std::vector<std::size_t> axes_of(const StoredTensor& tensor) {
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) axes.push_back(axis);
  return axes;
}

}  // namespace

const TensorType* tensor_type_of_descr(std::string_view descr) {
  return find_type(&TensorType::descr, descr);
}
const TensorType* tensor_type_of_storage(std::string_view storage) {
  return find_type(&TensorType::storage, storage);
}
const TensorType* tensor_type_of_torch(std::string_view torch) {
  return find_type(&TensorType::torch, torch);
}
const TensorType* tensor_type_of_safetensors(std::string_view name) {
  return find_type(&TensorType::safetensors, name);
}

std::string_view raw_dtype_name(std::string_view descr) {
  const TensorType* const type = tensor_type_of_descr(descr);
  if (type == nullptr || !type->descr.starts_with(kRawColumn)) return {};
  const std::string_view name = type->descr.substr(kRawColumn.size());
  return name.substr(0, name.find('\''));
}

std::string_view raw_dtype_descr(std::string_view name) {
  for (const TensorType& type : kTypes) {
    if (!name.empty() && raw_dtype_name(type.descr) == name) return type.descr;
  }
  return {};
}

bool StoredTensor::is_fortran() const { return !strides.empty() && run_on(*this, axes_of(*this)); }

std::string column_name_of(std::string_view name) {
  if (name.empty()) return "x";
  std::string column(name);
  std::ranges::replace_if(
      column, [](char c) { return c == '.' || c == '/'; }, '_');
  return column;
}

Error holds_no_tensor(const std::vector<std::string>& left_out, std::string_view path) {
  Error error(Code::unsupported, "holds no tensor ({} other values)", left_out.size());
  error.at(path);
  return error;
}

void drop_plain_strides(StoredTensor& tensor) {
  std::vector<std::size_t> axes = axes_of(tensor);
  std::ranges::reverse(axes);
  if (run_on(tensor, axes)) tensor.strides.clear();
}

std::uint64_t TensorColumn::bytes() const {
  std::uint64_t bytes = dtype.item_bytes();
  for (const std::uint64_t axis : shape) bytes *= axis;
  return bytes;
}

}  // namespace shale
