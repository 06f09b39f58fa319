#include <doctest/doctest.h>

#include "shale/data/stored_tensor.hpp"

namespace shale {
namespace {

StoredTensor tensor_of(std::vector<std::uint64_t> shape, std::vector<std::uint64_t> strides) {
  StoredTensor tensor;
  tensor.shape = std::move(shape);
  tensor.strides = std::move(strides);
  drop_plain_strides(tensor);
  return tensor;
}

TEST_CASE("stored tensor: strides of C order are dropped, others stay") {
  CHECK(tensor_of({4, 3, 2}, {6, 2, 1}).strides.empty());
  CHECK(tensor_of({1, 3}, {77, 1}).strides.empty());  // one row: its step means nothing
  CHECK(tensor_of({0, 3}, {9, 9}).strides.empty());   // no elements
  CHECK(tensor_of({}, {}).strides.empty());
  CHECK_FALSE(tensor_of({4, 3}, {6, 2}).strides.empty());
  CHECK_FALSE(tensor_of({4, 3}, {1, 4}).strides.empty());
  CHECK_FALSE(tensor_of({4, 3}, {0, 1}).strides.empty());
}

TEST_CASE("stored tensor: Fortran order is the axes the other way round") {
  CHECK(tensor_of({4, 3, 2}, {1, 4, 12}).is_fortran());
  CHECK_FALSE(tensor_of({4, 3, 2}, {1, 8, 4}).is_fortran());
  CHECK_FALSE(tensor_of({4, 3, 2}, {6, 2, 1}).is_fortran());
}

TEST_CASE("stored tensor: a dtype has its names with PyTorch, NumPy and safetensors") {
  const TensorType* const type = tensor_type_of_torch("float32");
  REQUIRE(type != nullptr);
  CHECK(tensor_type_of_descr("<f4") == type);
  CHECK(tensor_type_of_storage("FloatStorage") == type);
  CHECK(tensor_type_of_safetensors("F32") == type);
  CHECK(tensor_type_of_descr("<U3") == nullptr);
  CHECK(tensor_type_of_descr("") == nullptr);
  CHECK(tensor_type_of_descr("|V2") == nullptr);
}

TEST_CASE("stored tensor: dtypes that NumPy lacks are columns of their name") {
  for (const std::string_view name : {"bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu",
                                      "float8_e5m2fnuz", "float8_e4m3fnuz", "complex32"}) {
    const TensorType* const type = tensor_type_of_torch(name);
    REQUIRE(type != nullptr);
    const DType dtype = DType::parse(type->descr);
    CHECK(dtype.descr() == type->descr);
    CHECK(dtype.item_bytes() == type->item_bytes);
    CHECK(tensor_type_of_descr(dtype.descr()) == type);
    CHECK(raw_dtype_name(dtype.descr()) == name);
    CHECK(raw_dtype_descr(name) == type->descr);
  }
  CHECK(raw_dtype_name("<f4").empty());
  CHECK(raw_dtype_descr("float32").empty());
  CHECK(raw_dtype_descr("").empty());
}

TEST_CASE("stored tensor: its column has no dots and slashes in its name") {
  StoredTensor tensor;
  CHECK(column_name_of(tensor.name) == "x");
  tensor.name = "model.0/bias";
  CHECK(column_name_of(tensor.name) == "model_0_bias");
}

}  // namespace
}  // namespace shale
