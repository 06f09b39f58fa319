#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shale/base/bytes.hpp"
#include "shale/base/checksum.hpp"
#include "shale/io/file_syncs.hpp"

namespace shale {

/// How written bytes reach the disk: `direct` goes past the page cache (O_DIRECT) and fails where
/// the file system refuses, `buffered` goes through it, `automatic` is direct where it works and
/// the file is larger than a buffer, and buffered elsewhere.
enum class IoMode { automatic, direct, buffered };

/// Files are hashed by blocks of this size (docs/index.md, block lists). The last block of a
/// file may be shorter.
inline constexpr std::uint64_t kBlockBytes = 1 << 20;

/// What a finished file is, for the manifest.
struct FileSummary {
  std::uint64_t bytes = 0;
  std::vector<Hash128> blocks;  ///< xxh3-128 of each 1 MiB block
  Hash128 hash;                 ///< hash_of_blocks(blocks)
};

/// The hash of a file: xxh3-128 of the 16-byte hashes of its blocks, one after the other.
[[nodiscard]] Hash128 hash_of_blocks(std::span<const Hash128> blocks);

/// A file that grows at its end, written from a few reused aligned buffers, hashed block by block
/// as it goes. Writes of full buffers run in the background (io_uring) while the next one fills;
/// where io_uring is refused they are plain writes. Memory: `buffers` x `buffer_bytes`, whatever
/// the file's size. Not thread-safe. Until finish() has returned, nothing is promised about the
/// bytes on disk; the destructor only closes.
class OutputFile {
 public:
  struct Options {
    IoMode io = IoMode::automatic;
    std::uint64_t buffer_bytes =
        4 << 20;  ///< a multiple of 1 MiB for data files; at least 4 KiB, a multiple of it
    std::uint32_t buffers = 3;  ///< at least 1; 1 means that every write is waited for
    /// finish() leaves the file here instead of making it durable. Outlives it.
    FileSyncs* syncs = nullptr;
  };

  /// Creates the file. Errors: Code::io, also if anything, a link included, has that name.
  OutputFile(const std::string& path, const Options& options);
  /// An empty file that is open for reading and writing, or a stream that is only open for writing:
  /// bytes go out in order, and none is patched. Takes the descriptor. `name` is for messages.
  OutputFile(int descriptor, std::string name, const Options& options);
  /// Continues after the first `bytes` of a file that exists, a multiple of kBlockBytes; the rest
  /// goes. Its summary has no hashes. Errors: Code::damaged if it has fewer; Code::io.
  [[nodiscard]] static OutputFile continued(const std::string& path, std::uint64_t bytes,
                                            const Options& options);
  ~OutputFile();
  OutputFile(OutputFile&&) noexcept;
  OutputFile& operator=(OutputFile&&) noexcept;

  [[nodiscard]] const std::string& path() const;
  /// Bytes appended so far: the offset of the next one.
  [[nodiscard]] std::uint64_t size() const;

  /// Errors: Code::io with path, offset and cause; a full disk says how many bytes were wanted and
  /// are free.
  void append(Bytes bytes);
  void append_zeros(std::uint64_t count);
  /// Overwrites bytes that were appended before and hashes their blocks again. Meant for headers:
  /// it waits for the writes under way. Errors: Code::bug if [offset, offset + bytes.size()) was
  /// not appended; Code::io.
  void patch(std::uint64_t offset, Bytes bytes);
  /// Reads back bytes that were appended before. Errors: same as patch.
  void read_back(std::uint64_t offset, std::span<std::byte> into);
  /// Makes what was appended durable, as far as it has left the buffers, and says how far that is:
  /// of a buffered file all of it. More may be appended. Errors: Code::io.
  [[nodiscard]] std::uint64_t sync();
  /// The same without making it durable: a kill loses nothing of it, a power failure may. Errors:
  /// Code::io.
  [[nodiscard]] std::uint64_t flush();
  /// Writes the rest, truncates the file to size(), makes it durable (fdatasync) and closes it, or
  /// leaves both to Options::syncs. Call once.
  [[nodiscard]] FileSummary finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace shale
