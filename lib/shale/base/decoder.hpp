#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "shale/base/bytes.hpp"

namespace shale {

/// How a stream is compressed as a whole.
enum class Packing : std::uint8_t { none, gzip, zstd, zlib, lz4 };

/// "gzip", "zstd", "zlib", "lz4"; "" for none.
[[nodiscard]] std::string_view name_of(Packing packing);

/// The window, in bytes, that decompressing the first frame of a zstd stream takes, from the
/// stream's first bytes (512 do); 0 if they do not say.
[[nodiscard]] std::uint64_t zstd_window_of(Bytes head);

/// The content of a block of LZ4 without a frame, behind its size (u32, little-endian), as
/// python-lz4's lz4.block writes it; nullopt for what is not exactly one, or has more than
/// `most_bytes`. Memory: the content. Computed by liblz4.
[[nodiscard]] std::optional<std::vector<std::byte>> unpack_lz4_block(Bytes block,
                                                                     std::uint64_t most_bytes);

/// Decompresses a stream of gzip members (RFC 1952), zlib streams (RFC 1950), zstd frames (RFC
/// 8878) or LZ4 frames, however many follow each other, piece by piece; their checksums are
/// compared. Zeros behind the last one are padding, as tapes have it. One thread. Computed by zlib,
/// libzstd and liblz4.
class Decoder {
 public:
  /// `most_window`: of a zstd stream, rounded up to a power of two; gzip takes 50 KiB, LZ4 up to
  /// 8 MiB.
  Decoder(Packing packing, std::uint64_t most_window);
  ~Decoder();
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;

  struct Progress {
    std::size_t taken = 0;  ///< bytes of the piece; the rest is to be given again
    std::size_t given = 0;  ///< bytes written into `into`
  };
  /// Decompresses until `into` is full or the piece is used up. What was taken may also come out of
  /// a later call, even one with an empty piece: the end is where such a call does nothing. Errors:
  /// Code::damaged, without place, for what is not such a stream; Code::limit for a window that is
  /// too large.
  [[nodiscard]] Progress decode(Bytes piece, std::span<std::byte> into);
  /// True where the stream may end: between members or frames.
  [[nodiscard]] bool may_end() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shale
