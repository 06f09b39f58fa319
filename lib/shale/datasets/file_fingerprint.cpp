#include "shale/datasets/file_fingerprint.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "shale/base/size_text.hpp"

// The head has what containers rewrite with every change: both meta pages of an LMDB, up to its
// largest page size, and the superblock of an HDF5 file. The tail has footers, and the end of what
// was appended last. The pieces in between find a file that was written again, whatever the
// container.

namespace shale {
namespace {

void hash_range(const InputFile& file, std::uint64_t begin, std::uint64_t bytes,
                Hasher128& hasher) {
  std::vector<std::byte> content(bytes);
  file.read_exact(begin, content);
  hasher.update(content);
}

}  // namespace

FileFingerprint fingerprint_of(const InputFile& file, const std::function<void()>& stop_if_asked) {
  const auto hash_part = [&](std::uint64_t begin, std::uint64_t bytes, Hasher128& hasher) {
    if (stop_if_asked) stop_if_asked();
    hash_range(file, begin, bytes, hasher);
  };
  constexpr std::uint64_t kAllPieces = kFingerprintPieces * kFingerprintPieceBytes;
  const SparseReading sparse(file);
  const std::uint64_t head_end = std::min(kFingerprintEndBytes, file.size());
  const std::uint64_t tail_begin =
      file.size() - std::min(kFingerprintEndBytes, file.size() - head_end);
  Hasher128 head, middle, tail;
  hash_part(0, head_end, head);
  if (const std::uint64_t between = tail_begin - head_end; between <= kAllPieces) {
    hash_part(head_end, between, middle);
  } else {
    const std::uint64_t room = between - kFingerprintPieceBytes;
    for (std::uint64_t i = 0; i < kFingerprintPieces; ++i) {
      // room / 63 * i would leave out the end; room * i would overflow.
      const std::uint64_t step = room / (kFingerprintPieces - 1);
      const std::uint64_t begin = i + 1 == kFingerprintPieces ? room : step * i;
      hash_part(head_end + begin, kFingerprintPieceBytes, middle);
      // Single pages in the cache stop the kernel's read-ahead: whoever reads the file next would
      // take twice as long.
      file.drop_cache(head_end + begin, kFingerprintPieceBytes);
    }
  }
  hash_part(tail_begin, file.size() - tail_begin, tail);
  return {head.digest(), middle.digest(), tail.digest()};
}

std::string hex_of(const FileFingerprint& fingerprint) {
  return fingerprint.head.hex() + fingerprint.middle.hex() + fingerprint.tail.hex();
}

std::optional<std::string> first_difference(const FileFingerprint& was, const FileFingerprint& is) {
  const std::string end = format_size(kFingerprintEndBytes);
  if (was.head != is.head) return fmt::format("its first {} differ", end);
  if (was.tail != is.tail) return fmt::format("its last {} differ", end);
  if (was.middle != is.middle) return "bytes between its head and its tail differ";
  return std::nullopt;
}

}  // namespace shale
