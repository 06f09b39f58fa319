#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/error.hpp"
#include "shale/parquet/parquet_metadata.hpp"

namespace shale {

/// The largest page that is held in memory, as it is stored and unpacked.
inline constexpr std::uint64_t kMostPageBytes = std::uint64_t{1} << 30;

/// Code::limit, without place.
[[nodiscard]] Error page_too_large(std::uint64_t bytes);

/// Whether pages of this codec can be unpacked: not LZO, Brotli, and LZ4 as Hadoop frames it.
[[nodiscard]] bool can_unpack(ParquetCodec codec);

/// The bytes of a page, which are so many. Errors: Code::damaged, without place, for what is not
/// that; Code::unsupported for a codec; Code::limit for more than kMostPageBytes.
[[nodiscard]] std::vector<std::byte> unpack_page(ParquetCodec codec, Bytes stored,
                                                 std::uint64_t bytes);

}  // namespace shale
