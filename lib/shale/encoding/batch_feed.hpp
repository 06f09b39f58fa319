#pragma once

#include <cstddef>
#include <optional>

#include "shale/base/error.hpp"
#include "shale/encoding/sample_loader.hpp"

namespace shale {

/// Where a pipeline gets its batches from, in input order: cut from a source, or pushed by whoever
/// has the samples. One thread.
class BatchFeed {
 public:
  virtual ~BatchFeed() = default;
  /// The next batch, if there is one and it may join those `in_flight`. Waits only with nothing in
  /// flight; nullopt is the end then.
  [[nodiscard]] virtual std::optional<Batch> next(std::size_t in_flight) = 0;
  /// Takes back a batch that is done with: its lease ends, its buffer is used again.
  virtual void recycle(Batch batch) = 0;
};

/// How many batches may be in flight: enough that no worker waits for the one thread that commits.
[[nodiscard]] constexpr std::size_t most_batches_in_flight(unsigned jobs) {
  return std::size_t{jobs} * 2 + 2;
}

/// The bytes of a batch, out of what all in flight may hold.
[[nodiscard]] std::uint64_t bytes_of_batch(std::uint64_t memory_bytes, unsigned jobs);

/// The error for a sample of so many bytes that is more than all in flight may hold.
[[nodiscard]] Error sample_over_memory(std::uint64_t bytes, std::uint64_t memory_bytes);

}  // namespace shale
