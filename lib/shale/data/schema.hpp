#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shale/data/dtype.hpp"
#include "shale/field.hpp"

namespace shale {

/// Errors: Code::damaged for an unknown name.
[[nodiscard]] Kind kind_named(std::string_view name);
/// True for the kinds that lie in the container as an extent; integer and real are in the index
/// itself.
[[nodiscard]] constexpr bool is_located(Kind kind) {
  return kind != Kind::integer && kind != Kind::real;
}

/// What a column of such elements is: integer for bool and the integers up to int64, real for
/// float32 and float64; nullopt for the rest, which are tensors of shape ().
[[nodiscard]] std::optional<Kind> scalar_kind_of(const DType& dtype);

struct Field {
  std::string name;
  Kind kind = Kind::bytes;
  /// Of a tensor. Of an integer or real: what its column was in an array, "<i4"; none for "<i8" and
  /// "<f8", which hold every value of their kind. Containers of arrays store it so again.
  DType dtype = {};
  std::vector<std::uint64_t> shape = {};  ///< of a tensor
  friend bool operator==(const Field&, const Field&) = default;
  /// Bytes of a tensor's elements. Errors: Code::limit if the product does not fit in 63 bits.
  [[nodiscard]] std::uint64_t tensor_bytes() const;
};

/// The fields of every sample of a dataset, in order. The key is not among them.
struct Schema {
  std::vector<Field> fields;
  /// False: the keys are no more than the numbers of the samples, and a container need not hold
  /// them.
  bool has_keys = true;
  friend bool operator==(const Schema&, const Schema&) = default;
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  [[nodiscard]] bool has_lists() const;
};

/// True for the names that no field can have because the index or the command line uses them.
[[nodiscard]] bool is_reserved_name(std::string_view name);

/// Errors: Code::schema, naming the field: empty, duplicate or reserved names (offset length crc32c
/// key_hash key record index blocks), names with '.', '/', NUL or control characters or that are
/// not UTF-8, longer than 255 bytes, a tensor without dtype, a dtype that an integer or real cannot
/// have, and the names in `also_reserved`.
void validate_schema(const Schema& schema, std::span<const std::string_view> also_reserved = {});

}  // namespace shale
