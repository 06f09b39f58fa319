#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "shale/data/dtype.hpp"
#include "shale/numbers/number_facts.hpp"

namespace shale {

/// A column of a structured type, or of a column of it: "x", "box.left".
struct StructuredColumn {
  std::string name;
  std::string descr;                   ///< NumPy's name of its elements' type
  std::vector<std::uint64_t> shape;    ///< of its elements in each element of the whole
  NumberKind kind = NumberKind::none;  ///< none: not numbers, or structures with a shape
  std::uint64_t offset = 0, bytes = 0;
};

/// Those of a structured type, in its order, without its gaps; at most kMostColumns of them. None
/// of other types. Errors: none for a type that DType::parse made.
[[nodiscard]] std::vector<StructuredColumn> columns_of(const DType& dtype);
inline constexpr std::size_t kMostColumns = 256;

/// The bytes of one column, out of elements that lie one after the other.
[[nodiscard]] std::vector<std::byte> bytes_of_column(const StructuredColumn& column,
                                                     std::uint64_t item_bytes, Bytes elements);

}  // namespace shale
