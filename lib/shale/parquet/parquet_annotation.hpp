#pragma once

#include <cstdint>
#include <optional>

#include "shale/parquet/parquet_metadata.hpp"

namespace shale {

class ThriftReader;
struct ThriftField;

/// The older annotation of a column, with what decimals add to it.
struct ConvertedType {
  std::optional<std::uint8_t> number = {};
  std::int32_t scale = 0, precision = 0;
};
[[nodiscard]] ParquetAnnotation annotation_of(const ConvertedType& converted);
/// The older annotation that says the same; none if there is none.
[[nodiscard]] std::optional<std::uint8_t> converted_type_of(const ParquetAnnotation& annotation);

/// LogicalType, a union. Errors: those of the reader.
[[nodiscard]] ParquetAnnotation read_logical_type(ThriftReader& in, const ThriftField& of);

}  // namespace shale
