#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/view_bytes.hpp"
#include "shale/wire/tar_reader.hpp"

// The members of the tar archives that shale writes: regular files in POSIX's ustar form, of mode
// 0644, of nobody, of no time. The same member has the same bytes everywhere. tar_reader.hpp has
// the map of a header; what shale leaves empty is NUL. A PAX header precedes a member
// whose name has more than 100 bytes, which is 8 GiB or larger, or which has records of its own.

namespace shale {

/// Of a name, and of the target of a link, in a header; where the target stands there.
inline constexpr std::size_t kTarNameBytes = 100, kTarTargetAt = 157;
/// An archive ends in two blocks of zeros, and has a multiple of this.
inline constexpr std::uint64_t kTarRecordBytes = 10'240;

/// A line of a PAX header.
struct PaxRecord {
  std::string key, value;
  friend bool operator==(const PaxRecord&, const PaxRecord&) = default;
};

/// A regular file that becomes a member.
struct TarFile {
  std::string path;  ///< ASCII, without NUL
  std::uint64_t bytes = 0;
  std::string target = {};  ///< where a link has its target: at most kTarNameBytes, without NUL
  std::vector<PaxRecord> records = {};  ///< besides those of path and size
  friend bool operator==(const TarFile&, const TarFile&) = default;
};

/// All that precedes its data: a multiple of kTarBlockBytes.
[[nodiscard]] std::string tar_headers(const TarFile& file);

/// The zeros behind so many bytes of data.
[[nodiscard]] constexpr std::uint64_t tar_padding(std::uint64_t bytes) {
  return (kTarBlockBytes - bytes % kTarBlockBytes) % kTarBlockBytes;
}
/// Of an archive whose members have so many bytes together.
[[nodiscard]] constexpr std::uint64_t tar_file_bytes(std::uint64_t members) {
  const std::uint64_t least = members + 2 * kTarBlockBytes;
  return least + (kTarRecordBytes - least % kTarRecordBytes) % kTarRecordBytes;
}

/// A member that tar_headers() wrote, and where its parts lie.
struct WrittenTarFile {
  TarFile file;
  std::uint64_t header = 0, data = 0;  ///< offsets
  std::uint64_t target = 0;            ///< offset of TarFile::target
  std::vector<std::uint64_t> values;   ///< offsets of the values of TarFile::records
  /// Behind its padding.
  [[nodiscard]] std::uint64_t end() const { return data + file.bytes + tar_padding(file.bytes); }
};

/// Reads the headers at `offset` of an archive of `end` bytes. Errors: Code::damaged, with the
/// offset, for any bytes that tar_headers() would not have written, and for data that are longer
/// than the archive; those of the view.
[[nodiscard]] WrittenTarFile read_tar_headers(const ViewBytes& view, std::uint64_t offset,
                                              std::uint64_t end);

}  // namespace shale
