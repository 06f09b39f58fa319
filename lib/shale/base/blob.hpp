#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/unread_bytes.hpp"

namespace shale {

/// A run of bytes made of pieces: small ones it owns (headers, trailers), large ones it borrows (a
/// payload that lies in a read buffer), and the largest it reads when they are wanted. So an
/// encoded sample is passed on without copying its payload. Borrowed pieces must outlive the blob.
/// Not thread-safe.
class Blob {
 public:
  /// Makes room for so many pieces, and for so many bytes of copies.
  void reserve(std::size_t pieces, std::size_t copied_bytes);
  /// Adds a copy of `bytes`.
  void append_copy(Bytes bytes);
  /// Adds a reference to `bytes`.
  void append_view(Bytes bytes);
  /// Adds bytes that are read when they are wanted.
  void append_unread(Unread bytes);
  void append(const AnyBytes& bytes);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Calls `use(Bytes)` on each piece, in order, each valid during its call: what was not read yet
  /// comes in pieces of its own. Errors: same as UnreadBytes::for_each_piece.
  template <class Use>
  void for_each_piece(Use use) const {
    for_each_part([&](const AnyBytes& part) { part.for_each_piece(use); });
  }
  /// Calls `use(AnyBytes)` on what was appended, in order, and reads nothing.
  template <class Use>
  void for_each_part(Use use) const {
    for (const Piece& piece : pieces_) {
      if (piece.unread)
        use(AnyBytes(piece.unread));
      else if (piece.borrowed != nullptr)
        use(AnyBytes(Bytes(piece.borrowed, piece.length)));
      else
        use(AnyBytes(Bytes(own_).subspan(piece.own_offset, piece.length)));
    }
  }
  /// All pieces in one run.
  [[nodiscard]] std::vector<std::byte> flattened() const;

 private:
  struct Piece {
    const std::byte* borrowed;  // null: the bytes lie in own_, which may still move
    std::uint64_t own_offset;
    std::uint64_t length;
    Unread unread = {};
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
  /// The bytes there, if they were appended unread, and as they were appended; else null.
  [[nodiscard]] const Unread* unread_at(std::uint64_t offset, std::uint64_t length) const;

 private:
  std::vector<AnyBytes> pieces_;
  std::vector<std::uint64_t> begins_;  // of each piece, and the end of the last
  std::vector<std::byte> joined_;
};

}  // namespace shale
