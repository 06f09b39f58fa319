#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <sys/uio.h>

namespace shale {

/// One read of a batch. Either a whole small file by its path (opened, read and closed within the
/// batch), or an extent of a file that is open already. By path: ask for one byte more than you
/// expect, so that a file that has grown shows, and a read that fell short of the expected size is
/// looked at again (by one more open) before it is believed. Regular files only: a FIFO blocks.
struct ReadRequest {
  const char* path =
      nullptr;  ///< NUL-terminated; absolute, or from the working directory; null: `descriptor`
  int descriptor = -1;
  std::uint64_t offset = 0;
  std::span<std::byte> into = {};  ///< as many bytes as are wanted at most; may be empty
  /// Instead of `into`, of an extent: what is filled one after the other, at most kMostPieces.
  std::span<const iovec> pieces = {};

  static constexpr std::size_t kMostPieces = 1024;  // the kernel's own limit
  [[nodiscard]] std::uint64_t size() const;
};

struct ReadResult {
  std::uint64_t bytes = 0;  ///< read; fewer than wanted only at the end of the file
  int error = 0;            ///< errno of the open or the read, 0 if both went well
};

/// Reads many small extents at once, through the page cache, with many reads in flight.
/// Uses io_uring (open, read and close of a file as one chain), or a few threads with plain system
/// calls where the kernel refuses io_uring, or has no thread left to serve it; both give the same
/// results. One batch at a time: not thread-safe, make one per thread.
class BatchReader {
 public:
  enum class Backend { automatic, io_uring, threads };
  struct Options {
    std::uint32_t depth = 64;   ///< reads in flight, 1 to 4096
    std::uint32_t threads = 4;  ///< of the fallback, the calling one among them
    Backend backend = Backend::automatic;
  };
  /// Errors: Code::unsupported if io_uring was requested by name and is refused.
  explicit BatchReader(const Options& options);
  ~BatchReader();
  BatchReader(BatchReader&&) noexcept;
  BatchReader& operator=(BatchReader&&) noexcept;

  /// The result of each request, in their order. A failed read is a result, not an exception: only
  /// the caller knows which sample it was. Errors: Code::io if the ring itself broke.
  [[nodiscard]] std::vector<ReadResult> read(std::span<const ReadRequest> requests);
  /// What is used: io_uring or threads.
  [[nodiscard]] Backend backend() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shale
