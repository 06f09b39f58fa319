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
  std::vector<std::uint64_t> shape =
      {};                       ///< of a tensor; kFreeSide for a side of each sample's own
  bool is_optional = false;     ///< a sample may lack the value
  Kind elements = Kind::bytes;  ///< of a list: bytes or text
  bool is_json = false;         ///< of kind text: it is JSON
  friend bool operator==(const Field&, const Field&) = default;
  /// True for text and lists of text, which are read as a whole.
  [[nodiscard]] bool holds_text() const { return kind == Kind::text || elements == Kind::text; }
  /// True for a tensor whose samples have shapes of their own.
  [[nodiscard]] bool is_ragged() const;
  /// True if all values have one size, and there is one in each sample.
  [[nodiscard]] bool has_fixed_size() const;
  /// Bytes of the elements of a tensor that is not ragged. Errors: Code::limit if the product does
  /// not fit in 63 bits.
  [[nodiscard]] std::uint64_t tensor_bytes() const { return tensor_bytes(shape); }
  /// The same of a tensor of this shape.
  [[nodiscard]] std::uint64_t tensor_bytes(std::span<const std::uint64_t> of_shape) const;
  /// True if a tensor of this shape is one of the field's, and has as many bytes: what a file says
  /// of a value, which may be anything.
  [[nodiscard]] bool takes_tensor(std::span<const std::uint64_t> of_shape,
                                  std::uint64_t bytes) const;
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
  [[nodiscard]] bool has_ragged() const { return ragged_axes() > 0; }
  /// The axes of all ragged tensors together: how many sides each sample has.
  [[nodiscard]] std::size_t ragged_axes() const;
  [[nodiscard]] bool has_optional() const;
};

/// True if a tensor of the first shape is one of the second, whose free sides may be any.
[[nodiscard]] bool shape_fits(std::span<const std::uint64_t> shape,
                              std::span<const std::uint64_t> described);

/// Goes through the fields of a sample for the shapes of its tensors. The sides of its ragged
/// tensors are one list, field after field: as many as the field has axes, zeros where the value is
/// absent.
class ShapeWalk {
 public:
  explicit ShapeWalk(std::span<const std::uint64_t> sides) : left_(sides) {}
  /// The shape of the next field; empty if it is not a tensor. Errors: Code::bug if sides are
  /// missing.
  std::span<const std::uint64_t> next(const Field& field) {
    return field.is_ragged() ? take(field) : std::span<const std::uint64_t>(field.shape);
  }
  /// How many sides are left, of the fields to come.
  [[nodiscard]] std::size_t left() const { return left_.size(); }

 private:
  std::span<const std::uint64_t> take(const Field& field);

  std::span<const std::uint64_t> left_;
};

/// True for the names that no field can have because the index or the command line uses them.
[[nodiscard]] bool is_reserved_name(std::string_view name);

/// Errors: Code::schema, naming the field: empty, duplicate or reserved names (offset length crc32c
/// key_hash key record index blocks), names with '.', '/', NUL or control characters or that are
/// not UTF-8, longer than 255 bytes, a tensor without dtype, a dtype that an integer or real cannot
/// have, and the names in `also_reserved`.
void validate_schema(const Schema& schema, std::span<const std::string_view> also_reserved = {});

}  // namespace shale
