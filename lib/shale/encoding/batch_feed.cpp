#include "shale/encoding/batch_feed.hpp"

#include <algorithm>

namespace shale {
namespace {

constexpr std::uint64_t kLeastBatchBytes = 256 * 1024, kMostBatchBytes = 2 << 20;

}  // namespace

std::uint64_t bytes_of_batch(std::uint64_t memory_bytes, unsigned jobs) {
  return std::clamp(memory_bytes / most_batches_in_flight(jobs), kLeastBatchBytes, kMostBatchBytes);
}

Error sample_over_memory(std::uint64_t bytes, std::uint64_t memory_bytes) {
  return Error(Code::limit, "sample is {} bytes, but --memory leaves {} for samples", bytes,
               memory_bytes)
      .hint("pass a larger --memory, or leave the sample out of the input");
}

}  // namespace shale
