#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "shale/base/bytes.hpp"

#include "formats/hdf5/hdf5_description.hpp"

namespace shale {

/// At most so many bytes are sent at once.
inline constexpr std::uint64_t kReadOutBytes = 1 << 20;

/// Reads datasets through the library, filters and all, and sends their values, one dataset after
/// the other: the bytes of Hdf5BlockWalk's blocks, numbers little-endian; of sequences and strings
/// of any length each value by itself, u64 length and its bytes, a new message for each value. Only
/// for a child process that has nothing to lose (hdf5_probe.hpp). Memory: four times `block_bytes`,
/// and of values of any length those of 16 rows.
/// Errors: Code::damaged with the library's innermost message as cause; Code::unsupported for a
/// filter that this library does not have; Code::mismatch if the file has changed since it was
/// described; Code::limit.
void read_out_hdf5(const std::string& path, std::span<const Hdf5Dataset* const> datasets,
                   std::uint64_t block_bytes, const std::function<void(Bytes)>& send);

}  // namespace shale
