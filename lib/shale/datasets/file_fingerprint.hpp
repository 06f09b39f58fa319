#pragma once

#include <functional>
#include <optional>
#include <string>

#include "shale/data/manifest.hpp"
#include "shale/io/input_file.hpp"

namespace shale {

/// What of a file a FileFingerprint covers.
inline constexpr std::uint64_t kFingerprintEndBytes = 256 * 1024, kFingerprintPieceBytes = 4096,
                               kFingerprintPieces = 64;

/// The fingerprint of a file of another tool. Reads at most 768 KiB of it, whatever its size; all
/// of a file up to that. `stop_if_asked` (may be null) comes before each read: there are 66, and
/// storage may be slow. Errors: Code::damaged if the file ends before; Code::io; what
/// `stop_if_asked` throws.
[[nodiscard]] FileFingerprint fingerprint_of(const InputFile& file,
                                             const std::function<void()>& stop_if_asked = {});

/// Its three hashes, one after the other.
[[nodiscard]] std::string hex_of(const FileFingerprint& fingerprint);

/// Where two fingerprints of files of one size disagree, in words that follow "but": "its first 256
/// KiB differ"; nullopt if they do not.
[[nodiscard]] std::optional<std::string> first_difference(const FileFingerprint& was,
                                                          const FileFingerprint& is);

}  // namespace shale
