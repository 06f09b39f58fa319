#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shale/io/input_file.hpp"
#include "shale/wire/zip_directory.hpp"

// A file that is compressed as a whole (RFC 1952):
//   1f 8b 08, u8 flags, u32 time, u8, u8; if flag 4: u16 length, so many bytes; 8: a name, 0;
//   16: a comment, 0; 2: u16 checksum of the header
//   a deflate stream
//   u32 crc32 of the content, u32 bytes of it, modulo 2^32

namespace shale {

/// The only member of such a file, as if it lay in a zip archive.
struct GzipMember {
  ZipMember member;             ///< but for `bytes`, which only the content says in full
  std::vector<std::byte> head;  ///< the first bytes of the content, up to 4 KiB
  std::uint32_t low_bytes = 0;  ///< of the content, modulo 2^32
};

/// `begin`: the first bytes of the file. Nullopt for a file of another kind, and for one whose name
/// and comment take more than `begin`. What lies behind the member is found when it is read.
/// Errors: Code::io.
[[nodiscard]] std::optional<GzipMember> gzip_member_of(const InputFile& file, Bytes begin);

}  // namespace shale
