#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/dtype.hpp"

// What .pt and .safetensors files have in common: tensors by name, and the dtypes of both.

namespace shale {

/// The names of one dtype. Empty where somebody does not have it.
struct TensorType {
  std::string_view torch;        ///< "float32"
  std::string_view descr;        ///< NumPy's, "<f4"
  std::string_view storage;      ///< the class of PyTorch's typed storages, "FloatStorage"
  std::string_view safetensors;  ///< "F32"
  std::uint64_t item_bytes = 0;
};

/// Null for a name that is not there.
[[nodiscard]] const TensorType* tensor_type_of_descr(std::string_view descr);
[[nodiscard]] const TensorType* tensor_type_of_storage(std::string_view storage);
[[nodiscard]] const TensorType* tensor_type_of_torch(std::string_view torch);
[[nodiscard]] const TensorType* tensor_type_of_safetensors(std::string_view name);

/// What torch and ml_dtypes call a dtype that NumPy lacks, "bfloat16", by the description of its
/// bytes; empty for any other.
[[nodiscard]] std::string_view raw_dtype_name(std::string_view descr);
/// That description by the name; empty for any other name.
[[nodiscard]] std::string_view raw_dtype_descr(std::string_view name);

/// One tensor of a file. Where `obstacle` is empty its elements lie in the file: all of them, by
/// shape, strides and dtype, and those of its shape take less than 2^63 bytes.
struct StoredTensor {
  std::string name;      ///< empty: the file is this tensor
  std::string obstacle;  ///< why it cannot be read: "is sparse"
  DType dtype = {};
  std::vector<ByteSwap> swaps = {};  ///< what of an element lies big-endian
  std::vector<std::uint64_t> shape = {};
  std::vector<std::uint64_t> strides = {};  ///< in elements, one per axis; empty: C order
  std::uint64_t offset = 0;                 ///< of the first element, in the file

  /// True if the last axis but one runs slowest, and so on: NumPy's Fortran order.
  [[nodiscard]] bool is_fortran() const;
};

/// The tensors of a file, in its order.
struct StoredTensors {
  std::vector<StoredTensor> tensors;
  std::vector<std::string> left_out;  ///< by name: values that are not tensors
};

/// The name of the column of a tensor, or an array of an archive: dots and slashes, which no field
/// has, become underscores; "x" for that of a lone one, which has no name.
[[nodiscard]] std::string column_name_of(std::string_view name);

/// The error for a file at `path` that has values, but no tensor.
[[nodiscard]] Error holds_no_tensor(const std::vector<std::string>& left_out,
                                    std::string_view path);

/// Takes the strides away where they are those of C order.
void drop_plain_strides(StoredTensor& tensor);

/// A column to be written as a tensor.
struct TensorColumn {
  std::string name;
  DType dtype;
  std::vector<std::uint64_t> shape;
  [[nodiscard]] std::uint64_t bytes() const;
};

}  // namespace shale
