#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/base/decoder.hpp"
#include "shale/base/error.hpp"
#include "shale/io/input_stream.hpp"

namespace shale {

/// What a stream holds when it is decompressed, read once from its beginning to its end. One
/// thread.
class UnpackedStream {
 public:
  /// `most_window`: as of Decoder; the rest takes 300 KiB.
  UnpackedStream(std::unique_ptr<InputStream> stream, Packing packing, std::uint64_t most_window);

  [[nodiscard]] const std::string& name() const { return stream_->name(); }
  /// Of the decompressed bytes: what has been read or passed over.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  /// The xxh3-128 of them.
  [[nodiscard]] Hash128 hash() const { return hasher_.digest(); }

  /// As many as `into` has room for, fewer at the end only. Errors: Code::damaged, with the byte of
  /// the stream, for compressed data that are invalid or end early; Code::limit; Code::io.
  [[nodiscard]] std::uint64_t read(std::span<std::byte> into);
  /// Of a read that failed: how many bytes in front of the damage it put into its piece.
  [[nodiscard]] std::uint64_t before_damage() const { return before_damage_; }
  /// The next bytes, fewer at the end only: read() gives them again. Valid until the next call.
  /// Errors: same as read.
  [[nodiscard]] Bytes peek(std::uint64_t bytes);
  /// Passes over bytes; false if the stream ends before. Errors: same as read.
  [[nodiscard]] bool skip_to(std::uint64_t position);

 private:
  [[nodiscard]] std::uint64_t unpack(std::span<std::byte> into);
  [[nodiscard]] Error ends_early() const;

  std::unique_ptr<InputStream> stream_;
  Packing packing_;
  Decoder decoder_;
  std::vector<std::byte> packed_, held_, passed_;
  std::size_t begin_ = 0, end_ = 0;  // in packed_: what has not been decompressed yet
  bool has_ended_ = false;           // the compressed one
  std::uint64_t position_ = 0, before_damage_ = 0;
  Hasher128 hasher_;
};

}  // namespace shale
