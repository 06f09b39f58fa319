#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "shale/base/error.hpp"

namespace shale {

/// An HDF5 file that is opened read-only through a file driver of our own, which can tell where the
/// library goes for a chunk. HDF5 1.10 has no other way to learn the addresses of n chunks in O(n):
/// H5Dget_chunk_info and H5Dget_chunk_info_by_coord both walk the index from its begin (10,000
/// chunks 1 s, 50,000 more than 20 s; 2 cores, November 2026). Under lock_hdf5() only.
class Hdf5TrackedFile {
 public:
  /// is_valid() tells whether the library could open it; why not stays on its error stack.
  /// Errors: Code::io if the system does not open it.
  /// `may_be_cut`: of a file that ends before what its superblock says the rest is opened, and what
  /// lies behind the end cannot be read, instead of being zeros.
  explicit Hdf5TrackedFile(const std::string& path, bool may_be_cut = false);
  ~Hdf5TrackedFile();
  Hdf5TrackedFile(const Hdf5TrackedFile&) = delete;
  Hdf5TrackedFile& operator=(const Hdf5TrackedFile&) = delete;

  [[nodiscard]] bool is_valid() const { return id_ >= 0; }
  /// The library's identifier of the file.
  [[nodiscard]] std::int64_t id() const { return id_; }

  /// The offset in the file of the chunk of `dataset` (an identifier) that begins at this element;
  /// nothing if it was never written. No byte of the chunk is read.
  [[nodiscard]] std::optional<std::uint64_t> chunk_address(std::int64_t dataset,
                                                           std::span<const unsigned long long> at);

  /// How many bytes of a chunk are stored, and which of its filters were passed over, a bit each.
  struct StoredChunk {
    std::uint64_t bytes = 0;
    std::uint32_t passed_over = 0;
  };
  /// Nothing if it was never written, or cannot be found. No byte of it is read.
  [[nodiscard]] std::optional<StoredChunk> stored_chunk(std::int64_t dataset,
                                                        std::span<const unsigned long long> at);

  /// Why the library failed: `error`, or Code::io where the storage did not hand out what the
  /// library wanted to read. That is not damage.
  [[nodiscard]] Error reason_of(const Error& error) const;

  struct Tracker;

 private:
  void release();

  std::unique_ptr<Tracker> tracker_;  // the driver has a pointer to it
  std::int64_t driver_ = -1, access_ = -1, id_ = -1;
};

}  // namespace shale
