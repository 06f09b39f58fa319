#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "shale/base/checksum.hpp"
#include "shale/base/error.hpp"
#include "shale/base/finding.hpp"

namespace shale {

/// A fact about damaged bytes, in the one wording that it has wherever it is met: as an Error where
/// it stops the work, in a Finding where it does not.
struct Mismatch {
  std::string message, found, expected;

  /// Code::damaged, "message: found X, expected Y"; place and hint are the caller's.
  [[nodiscard]] Error error() const;
  /// Sets message, found and expected.
  void describe_in(Finding& finding) const;
};

/// The crc32c of a value's bytes.
[[nodiscard]] Mismatch checksum_mismatch(std::uint64_t bytes, std::uint32_t found,
                                         std::uint32_t expected);
/// The hash of a whole file, and the hash of one block of it.
[[nodiscard]] Mismatch file_hash_mismatch(const Hash128& found, const Hash128& expected);
[[nodiscard]] Mismatch block_hash_mismatch(const Hash128& found, const Hash128& expected);
/// The hashes of a block list, hashed: they make the hash of the file whose blocks they are of.
[[nodiscard]] Mismatch block_list_mismatch(std::string_view file, const Hash128& found,
                                           const Hash128& expected);
[[nodiscard]] Mismatch file_size_mismatch(std::uint64_t found, std::uint64_t expected);

}  // namespace shale
