#pragma once

#include <string>

#include "shale/base/bytes.hpp"
#include "shale/parquet/parquet_metadata.hpp"

namespace shale {

/// Whether a value of such a column is read as words: dates, times, decimals, UUIDs.
[[nodiscard]] bool has_words(const ParquetElement& column);

/// What a stored value means: "2026-11-29", "2026-11-29T13:05:00.25", "-12.50",
/// "67e55044-10b1-426f-9247-bb680e5fe0c8". Times in UTC have a Z behind them.
/// Errors: Code::damaged, without place, for a value of another size than its column's.
[[nodiscard]] std::string words_of(const ParquetElement& column, Bytes value);

}  // namespace shale
