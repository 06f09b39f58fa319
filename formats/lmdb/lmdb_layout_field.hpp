#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "shale/base/view_bytes.hpp"
#include "shale/data/schema.hpp"
#include "shale/data/shard_index.hpp"

namespace shale::lmdb {

/// A field of one value: what it is, and where.
struct LayoutField {
  Field field;
  IndexCell cell;
  std::vector<FieldPlace> elements = {};  ///< of a list
};

/// A value that is to be taken apart: `length` bytes from `begin` of the view; `where` goes into
/// errors.
struct StoredValue {
  const ViewBytes& view;
  std::uint64_t begin, length;
  std::string_view where;
};

/// The most components that a value may have as fields.
inline constexpr std::size_t kMostFields = 1'024;

[[nodiscard]] LayoutField placed_field(std::string_view name, Kind kind, const FieldPlace& place);
[[nodiscard]] LayoutField integer_field(std::string_view name, std::int64_t number);
[[nodiscard]] LayoutField real_field(std::string_view name, double number);

// What tensorpack's values are made of, whichever way they were serialized.

/// An array of NumPy whose elements lie in `data`: one of uint8 in one dimension is bytes. Nullopt
/// if its shape does not have the size of `data`. Errors: Code::limit for a shape beyond 2^63
/// bytes.
[[nodiscard]] std::optional<LayoutField> array_field(std::string_view name, DType dtype,
                                                     std::vector<std::uint64_t> shape,
                                                     const FieldPlace& data);
/// The number that lies at `offset`. Nullopt for a dtype that is not a number of up to 64 bits.
/// Errors: what the view throws; Code::damaged for a bool that is neither 0 nor 1.
[[nodiscard]] std::optional<LayoutField> number_field(std::string_view name, const DType& dtype,
                                                      const ViewBytes& view, std::uint64_t offset);
/// Gives two components, an image and an integer, these names: nearly all of these files have them.
void name_image_and_label(std::vector<LayoutField>& components);

}  // namespace shale::lmdb
