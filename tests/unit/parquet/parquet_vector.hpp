#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace shale::test {

/// A whole Parquet file of 845 bytes, which pyarrow 26, DuckDB 2.0 and Polars 2.1 read: the fields
/// image {bytes, path}, label and key; the rows ({ffd841, "a.jpg"}, 1, "k0"), (null, 0, "k1") and
/// ({null, "b"}, null, "k2"). The first value is at byte 41.
[[nodiscard]] std::vector<std::byte> parquet_vector();

/// Where its footer begins, and what it says under "huggingface".
inline constexpr std::size_t kVectorFooter = 276;
[[nodiscard]] std::string parquet_vector_json();

}  // namespace shale::test
