#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "shale/trees/hdf5_metadata.hpp"

namespace shale::test {

/// Gives the superblock and every object header of a file the checksum that its bytes deserve,
/// where one fits: so damage made at random gets past the first check.
inline void mend_checksums(std::string& bytes) {
  const auto mend = [&](std::size_t begin, std::uint64_t length) {
    if (length < 4 || length > bytes.size() - begin) return;
    const std::string_view covered = std::string_view(bytes).substr(begin, length - 4);
    const std::uint32_t sum = lookup3(as_bytes(covered));
    std::memcpy(bytes.data() + begin + length - 4, &sum, sizeof(sum));
  };
  mend(0, kSuperblockBytes);
  for (std::size_t at = bytes.find("OHDR"); at != std::string::npos;
       at = bytes.find("OHDR", at + 4)) {
    if (bytes.size() - at < 8) return;
    const auto byte = [&](std::size_t i) {
      return std::uint64_t{static_cast<unsigned char>(bytes[at + i])};
    };
    if ((byte(5) & 3) == 0) mend(at, 7 + byte(6) + 4);
    if ((byte(5) & 3) == 1) mend(at, 8 + (byte(6) | byte(7) << 8) + 4);
  }
}

}  // namespace shale::test
