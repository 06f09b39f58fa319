#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "shale/base/bytes.hpp"

namespace shale {

/// How a stream is compressed as a whole.
enum class Packing : std::uint8_t { none, gzip, zstd, zlib };

/// "gzip", "zstd", "zlib"; "" for none.
[[nodiscard]] std::string_view name_of(Packing packing);

/// The window, in bytes, that decompressing the first frame of a zstd stream takes, from the
/// stream's first bytes (512 do); 0 if they do not say.
[[nodiscard]] std::uint64_t zstd_window_of(Bytes head);

/// Decompresses a stream of gzip members (RFC 1952), zlib streams (RFC 1950) or zstd frames (RFC
/// 8878), however many follow each other, piece by piece; their checksums are compared. Zeros
/// behind the last one are padding, as tapes have it. One thread. Computed by zlib and libzstd.
class Decoder {
 public:
  /// `most_window`: of a zstd stream, rounded up to a power of two; gzip takes 50 KiB.
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
