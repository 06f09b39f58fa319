#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "shale/base/error.hpp"
#include "shale/data/sample.hpp"
#include "shale/flow/shared_budget.hpp"
#include "shale/format/format.hpp"
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
  /// One sample, whose large values stay unread.
  bool leaves_large = false;
  bool is_lent = false;  ///< what is held is not in the buffer, but borrowed from whoever has it
  SharedBudget::Hold lease;
  ReadBuffer buffer;
};

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
/// The source may have half of --memory, and what is written has its buffers.
[[nodiscard]] std::string memory_for_sample_hint(std::uint64_t bytes);
[[nodiscard]] Error sample_over_memory(std::uint64_t bytes, std::uint64_t memory_bytes);

/// What a sample costs while it is in flight, over and above its payload: at least so much, and for
/// each field its place, its value and its part of the record. Estimated from the sizes of the
/// structs; the peaks with 2,000 fields bear it out. The rows of a run share all but the record.
inline constexpr std::uint64_t kSampleOverheadBytes = 1024, kFieldOverheadBytes = 400,
                               kRecordFieldBytes = 120;
[[nodiscard]] constexpr std::uint64_t sample_overhead(std::size_t fields) {
  return std::max(kSampleOverheadBytes, fields * kFieldOverheadBytes);
}

/// Reads the payload of all samples of a batch into its buffer, with many reads in flight, and
/// returns them as samples that point into it, the numbers of SourceInfo::casts cast. Of a batch
/// with `leaves_large`, what stays unread is not set. Errors: Code::io naming the sample for a file
/// that cannot be read, has gone, shrunk or grown; Code::damaged for an extent whose crc32c is
/// wrong.
[[nodiscard]] std::vector<Sample> load_batch(Batch& batch, const SourceInfo& source,
                                             BatchReader& reader);

/// The columns of each run of a batch, a field each, in large reads, little-endian, and cast: they
/// lie in the batch's buffer, or where the source had them. Errors: Code::io, naming the first row
/// of the run, for a file that cannot be read or has shrunk.
[[nodiscard]] std::vector<std::vector<Bytes>> load_runs(Batch& batch, const SourceInfo& source,
                                                        BatchReader& reader);

/// Puts the shape of a field among the sides of a sample, if it is ragged.
void set_shape(std::span<std::uint64_t> sides, const Schema& schema, std::size_t field,
               std::span<const std::uint64_t> shape);

/// One value of a sample that was read, or one element of a list; all is borrowed.
struct ValueRead {
  const std::string& key;             ///< of the sample
  std::uint64_t number;               ///< of the sample
  std::uint64_t bytes;                ///< that it had when it was listed
  const std::string* path = nullptr;  ///< of a small file; null: it lies in an open file
  int descriptor = -1;
  std::uint64_t offset = 0;
};
/// Errors: Code::io naming the sample for a file that cannot be read, has gone, shrunk or grown.
void check_read(const ValueRead& value, const ReadResult& result);

/// Of a file that was listed by a run before: its size and its time must still be those. Errors:
/// Code::mismatch naming the file.
void check_listed(const std::string& path, std::uint64_t bytes, std::int64_t modified_ns,
                  std::uint64_t number);

/// The error for a value whose crc32c is not the one that it was written with.
[[nodiscard]] Error wrong_value(const ValueRead& value, std::uint32_t found,
                                std::uint32_t expected);

/// The same error, to be given another hint.
[[nodiscard]] Error without_hint(const Error& error);
/// The error for damage of a dataset, with the hint that samples may be left out, where that is to
/// be said; else as it was.
[[nodiscard]] Error with_way_out(Error error, OnDamage on_damage);
/// What is said of a sample that is left out for it: the file, wherever it is, and the fact.
[[nodiscard]] std::string damage_text(const Error& error);

// A sample that is larger than all the memory for samples is a batch of its own whose large values
// stay unread: the worker reads them in pieces, for digest and checksums, and the thread that
// commits reads them once more as it writes them.

/// Values from this size on stay unread.
inline constexpr std::uint64_t kLeastUnreadBytes = 4096;

/// True for a field of the sample whose value stays unread: not text, which is checked as a
/// whole, and not a single image, which is probed as a whole (images in a list are probed one by
/// one).
[[nodiscard]] bool stays_unread(const PendingSample& sample, const SourceInfo& source,
                                std::size_t field);

/// What of the sample has to be in memory at the same time, in bytes of payload.
[[nodiscard]] std::uint64_t held_bytes(const PendingSample& sample, const SourceInfo& source);

/// True if the sample has images in a list whose sizes are not known: one of them may be as large
/// as all that can be held.
[[nodiscard]] bool has_images_of_unknown_size(const PendingSample& sample,
                                              const SourceInfo& source);

/// True if samples of the source that are larger than the memory for them stay unread on their way
/// to this format.
[[nodiscard]] bool may_stay_unread(const SourceInfo& source, const Format& format,
                                   const OptionSet& options);

}  // namespace shale
