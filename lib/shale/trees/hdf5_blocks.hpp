#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shale/trees/hdf5_description.hpp"

namespace shale {

/// A box of elements of a dataset.
struct Hdf5Block {
  std::vector<std::uint64_t> origin, sides;
};

/// Bytes of a box of elements; 2^64 - 1 where they do not fit in 63 bits.
[[nodiscard]] std::uint64_t bytes_of_hdf5_sides(std::span<const std::uint64_t> sides,
                                                std::uint64_t element_bytes);
/// How many chunks the shape of a dataset has room for; nullopt: more than `most`.
[[nodiscard]] std::optional<std::uint64_t> chunks_of_hdf5(const Hdf5Dataset& dataset,
                                                          std::uint64_t most);
/// The first element of the next chunk, in row-major order; false after the last.
[[nodiscard]] bool next_hdf5_chunk(std::span<unsigned long long> corner,
                                   const Hdf5Dataset& dataset);

/// Cuts a dataset into blocks of whole chunks, in row-major order of the blocks: each chunk is read
/// once, and a block is as long a run of rows as the limit lets it be. Blocks at the edges are
/// smaller. The dataset outlives it and has elements.
class Hdf5BlockWalk {
 public:
  /// Errors: Code::limit if one chunk is larger than `limit_bytes`.
  Hdf5BlockWalk(const Hdf5Dataset& dataset, std::uint64_t limit_bytes);

  [[nodiscard]] bool is_done() const { return is_done_; }
  /// The block at hand, unless is_done().
  [[nodiscard]] const Hdf5Block& block() const { return block_; }
  void advance();
  /// Bytes of the block at hand.
  [[nodiscard]] std::uint64_t block_bytes() const;
  /// Bytes of the largest block, and of a chunk as it is stored.
  [[nodiscard]] std::uint64_t largest_bytes() const { return largest_bytes_; }
  [[nodiscard]] std::uint64_t chunk_bytes() const { return chunk_bytes_; }

 private:
  void clip();

  const Hdf5Dataset& dataset_;
  std::vector<std::uint64_t> steps_;  // sides of a block that is not at an edge
  std::uint64_t largest_bytes_ = 0, chunk_bytes_ = 0;
  Hdf5Block block_;
  bool is_done_ = false;
};

/// The runs of bytes that a block is, in a dataset that lies in one piece. Both outlive it.
class Hdf5RunWalk {
 public:
  Hdf5RunWalk(const Hdf5Dataset& dataset, const Hdf5Block& block);

  [[nodiscard]] bool is_done() const { return is_done_; }
  /// Where the run at hand begins, in bytes from the begin of the dataset.
  [[nodiscard]] std::uint64_t offset() const;
  [[nodiscard]] std::uint64_t run_bytes() const { return run_bytes_; }
  void advance();

 private:
  std::vector<std::uint64_t> origin_, sides_, strides_;  // strides in bytes
  std::vector<std::uint64_t> at_;                        // of the run, within the block
  std::size_t outer_ = 0;                                // sides that are split
  std::uint64_t run_bytes_ = 0;
  bool is_done_ = false;
};

}  // namespace shale
