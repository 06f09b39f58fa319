#pragma once

#include <cstdint>
#include <vector>

#include "shale/base/bytes.hpp"

namespace shale {

/// A run of bytes made of pieces: small ones it owns (headers, trailers), large ones it borrows (a
/// payload that lies in a read buffer). So an encoded sample is passed on without copying its
/// payload. Borrowed pieces must outlive the blob. Not thread-safe.
class Blob {
 public:
  /// Adds a copy of `bytes`.
  void append_copy(Bytes bytes);
  /// Adds a reference to `bytes`.
  void append_view(Bytes bytes);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Calls `use(Bytes)` on each piece, in order.
  template <class Use>
  void for_each_piece(Use use) const {
    for (const Piece& piece : pieces_) {
      use(piece.borrowed != nullptr ? Bytes(piece.borrowed, piece.length)
                                    : Bytes(own_).subspan(piece.own_offset, piece.length));
    }
  }
  /// All pieces in one run.
  [[nodiscard]] std::vector<std::byte> flattened() const;

 private:
  struct Piece {
    const std::byte* borrowed;  // null: the bytes lie in own_, which may still move
    std::uint64_t own_offset;
    std::uint64_t length;
  };
  std::vector<std::byte> own_;
  std::vector<Piece> pieces_;
  std::uint64_t size_ = 0;
};

/// A blob as bytes at offsets, for what is parsed in order. Borrows it; a view ends with the next.
class BlobView {
 public:
  explicit BlobView(const Blob& blob);
  /// Errors: Code::bug for bytes that are not in the blob.
  [[nodiscard]] Bytes operator()(std::uint64_t offset, std::uint64_t length);

 private:
  std::vector<Bytes> pieces_;
  std::vector<std::uint64_t> begins_;  // of each piece, and the end of the last
  std::vector<std::byte> joined_;
};

}  // namespace shale
