#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shale/data/sample.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"

// Values of one size, as the columns of an array have them: a tensor as its elements, an integer or
// real as one element of its dtype. Little-endian.

namespace shale {

/// The field that a column of an array is: `shape` is that of one row. "<i8" and "<f8" are left out
/// of the field, as Field::dtype says.
[[nodiscard]] Field field_of_column(std::string name, const DType& dtype,
                                    std::vector<std::uint64_t> shape);
/// NumPy's type of the column that a field of fixed size is.
[[nodiscard]] DType dtype_of_column(const Field& field);
/// NumPy's type of what is stored of a field; nullopt for bytes, text and lists, and for numbers
/// that an index holds as 64 bits.
[[nodiscard]] std::optional<DType> stored_dtype_of(const Field& field, RowStorage rows);
/// NumPy's shape of a column of so many values.
[[nodiscard]] std::vector<std::uint64_t> shape_of_column(const Field& field, std::uint64_t rows);

/// Bytes of each value of a field; nullopt for bytes, text, lists, ragged tensors and optional
/// fields, whose values differ in size. Errors: same as Field::tensor_bytes.
[[nodiscard]] std::optional<std::uint64_t> fixed_bytes_of(const Field& field);
/// True if every field has values of one size, and there is one.
[[nodiscard]] bool has_fixed_fields(const Schema& schema);

/// Rows of no bytes cost nothing to claim and each is a sample to go through.
/// Errors: Code::unsupported for more than 2^24 of them.
void refuse_empty_rows(const Schema& schema, std::uint64_t rows);

/// The number that the bytes of one value stand for: field is an integer or real.
/// Errors: Code::damaged for a bool that is neither 0 nor 1.
[[nodiscard]] IndexCell read_number(Bytes stored, const Field& field);
/// The bytes of one number. Errors: Code::schema, naming the field, for one that its dtype cannot
/// hold.
void write_number(const Value& value, const Field& field, std::span<std::byte> into);

}  // namespace shale
