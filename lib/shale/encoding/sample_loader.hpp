#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "shale/data/sample.hpp"
#include "shale/flow/memory_budget.hpp"
#include "shale/format/source.hpp"
#include "shale/io/batch_reader.hpp"

namespace shale {

/// Memory that a batch of payloads is read into. Kept and handed on, so that the pages stay backed:
/// touching fresh memory costs more than the read itself.
class ReadBuffer {
 public:
  /// At least `bytes` long; its content is undefined.
  void require(std::uint64_t bytes);
  [[nodiscard]] std::uint64_t capacity() const { return capacity_; }
  [[nodiscard]] std::span<std::byte> bytes() { return {bytes_.get(), capacity_}; }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  std::uint64_t capacity_ = 0;
};

/// Consecutive samples that are worked on as one: those of a source, still to be read, or those of
/// a stream, which came with their payload.
struct Batch {
  std::vector<PendingSample> pending;
  std::vector<Sample> held;  ///< instead of pending: their payload is in the buffer
  std::uint64_t first = 0;   ///< number of the first one in the input
  std::uint64_t bytes = 0;
  /// One sample, whose large values stay unread (unread_rule.hpp).
  bool leaves_large = false;
  bool is_lent = false;  ///< what is held is not in the buffer, but borrowed from whoever has it
  Lease lease;
  ReadBuffer buffer;
};

/// What a sample costs while it is in flight, over and above its payload: at least so much, and for
/// each field its place, its value and its part of the record. Estimated from the sizes of the
/// structs; the peaks with 2,000 fields bear it out. The rows of a run share all but the record.
inline constexpr std::uint64_t kSampleOverheadBytes = 1024, kFieldOverheadBytes = 400,
                               kRecordFieldBytes = 120;
[[nodiscard]] constexpr std::uint64_t sample_overhead(std::size_t fields) {
  return std::max(kSampleOverheadBytes, fields * kFieldOverheadBytes);
}

/// Reads the payload of all samples of a batch into its buffer, with many reads in flight, and
/// returns them as samples that point into it. Of a batch with `leaves_large`, what stays unread is
/// not set. Errors: Code::io naming the sample for a file that
/// cannot be read, has gone, shrunk or grown; Code::damaged for an extent whose crc32c is wrong.
[[nodiscard]] std::vector<Sample> load_batch(Batch& batch, const SourceInfo& source,
                                             BatchReader& reader);

/// The columns of each run of a batch, a field each, in large reads, little-endian: they lie in the
/// batch's buffer, or where the source had them. Errors: Code::io, naming the first row of the run,
/// for a file that cannot be read or has shrunk.
[[nodiscard]] std::vector<std::vector<Bytes>> load_runs(Batch& batch, const SourceInfo& source,
                                                        BatchReader& reader);

}  // namespace shale
