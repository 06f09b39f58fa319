#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "shale/base/bytes.hpp"

namespace shale {

enum class Compression : std::uint8_t { gzip, zlib };

/// Decompresses the first bytes of a compressed stream into `into`; `head` is the
/// beginning. Returns how many there were; 0 for anything that is not such a stream. Computed by
/// isa-l.
[[nodiscard]] std::size_t inflate_beginning(Compression compression, Bytes head,
                                            std::span<std::byte> into);

/// How many bytes a zlib stream has, decompressed in 64 KiB of memory; nothing if it is not whole,
/// or its checksum does not match.
[[nodiscard]] std::optional<std::uint64_t> inflated_zlib_bytes(Bytes stream);

/// Inflates a raw deflate stream that fills `into` exactly. Errors: Code::damaged, without place.
void inflate_exactly(Bytes stream, std::span<std::byte> into);

/// Inflates a raw deflate stream (RFC 1951, as zip files hold it) piece by piece, in 90 KiB of
/// memory. One thread.
class Inflater {
 public:
  Inflater();
  ~Inflater();
  Inflater(Inflater&&) noexcept;
  Inflater& operator=(Inflater&&) noexcept;

  struct Progress {
    std::size_t taken = 0;  ///< bytes of the piece; the rest is to be given again
    std::size_t given = 0;  ///< bytes written into `into`
    bool has_ended = false;
  };
  /// Fills `into` from the next piece of the stream: it stops when `into` is full, all of the piece
  /// is consumed, or the stream has ended. What was consumed may also be output by a later call,
  /// even one with an empty piece. Errors: Code::damaged, without place, for an invalid deflate
  /// stream.
  [[nodiscard]] Progress inflate(Bytes piece, std::span<std::byte> into);
  /// Bytes of the stream so far; once it has ended, its exact length, which may be a few bytes less
  /// than were taken.
  [[nodiscard]] std::uint64_t stream_bytes() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shale
