#pragma once

#include <cstdint>
#include <string_view>

#include "shale/base/bytes.hpp"

namespace shale {

/// What a stream of bytes is, by its first ones.
enum class StreamKind {
  tar,    ///< a member's header with a valid checksum, or a block of zeros: an archive of nothing
  gzip,   ///< compressed, an archive or not
  zstd,   ///< the same
  xz,     ///< known, and not read
  bzip2,  ///< known, and not read
  other,  ///< text, such as a list of files; also an empty stream
};

/// What it takes to tell.
inline constexpr std::uint64_t kStreamKindBytes = 512;

/// Of a stream that begins with `head`: kStreamKindBytes, or all there are.
[[nodiscard]] StreamKind stream_kind_of(Bytes head);

/// True for a tar archive, and for what may be one when it is decompressed.
[[nodiscard]] constexpr bool may_be_archive(StreamKind kind) { return kind != StreamKind::other; }

/// "gzip"; "tar" and "text" for what is not compressed.
[[nodiscard]] std::string_view name_of(StreamKind kind);

}  // namespace shale
