#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <type_traits>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/io/aligned_buffer.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/extent_store.hpp"
#include "shale/sampling/bucket_shape.hpp"
#include "shale/sampling/draw.hpp"

namespace shale {

/// A stream of entries in extents: from `begin` on in the first one, from 0 on in the others.
///   entry  u32 slot, counted from the bucket's first | the row's bytes     no padding, no order
struct Bucket {
  std::vector<std::uint32_t> extents;
  std::uint64_t begin = 0, bytes = 0;
};

/// Calls act(n) with n a constant: a small row's bytes, so that its copy is a move; else 0.
template <class Act>
void with_row_bytes(std::uint64_t row_bytes, Act act) {
  switch (row_bytes) {
    case 1:
      return act(std::integral_constant<std::size_t, 1>());
    case 2:
      return act(std::integral_constant<std::size_t, 2>());
    case 4:
      return act(std::integral_constant<std::size_t, 4>());
    case 8:
      return act(std::integral_constant<std::size_t, 8>());
    case 16:
      return act(std::integral_constant<std::size_t, 16>());
    default:
      return act(std::integral_constant<std::size_t, 0>());
  }
}

/// Deals rows to buckets of `span` slots each, in extents of a store. Thread-safe, but for
/// finish(). The first error of any thread is everyone's.
class BucketDealer {
 public:
  /// `rows` slots from 0 on. The store's buffers are its own until it is finished.
  BucketDealer(ExtentStore& store, const BucketShape& shape, std::uint64_t rows,
               std::uint64_t span);

  /// Rows in memory from `first_row` on, and where some of them go.
  struct Run {
    const std::byte* bytes = nullptr;
    std::uint64_t first_row = 0;
    std::span<const DrawnPlace> places;
  };
  /// Errors: Code::io; Code::bug for a slot that there is not.
  void deal(std::span<const Run> runs);
  /// Deals whole entries of a bucket, whose slots these are. Errors: same as deal.
  void deal_again(Bytes entries);

  /// Starts to write what is left: settle the store before it is read. No more deal() after it.
  /// Errors: Code::io.
  [[nodiscard]] std::vector<Bucket> finish();

 private:
  // Where the next byte of a bucket goes, in its buffer.
  struct Cursor {
    std::byte *at = nullptr, *end = nullptr;
  };

  template <class Deal>
  void deal_locked(Deal deal);
  template <std::size_t kRowBytes>
  void put(std::uint64_t slot, const std::byte* row);
  void put_split(std::size_t bucket, Bytes bytes);
  void open_extent(std::size_t bucket);
  void write_extent(std::size_t bucket);

  ExtentStore& store_;
  const std::uint64_t row_bytes_, rows_, span_;
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::vector<Cursor> cursors_;         // of each bucket
  std::vector<std::uint32_t> buffers_;  // of each bucket that has a cursor
  std::vector<Bucket> buckets_;
};

/// Reads buckets piece by piece on threads of its own, each with an arena, and gives their extents
/// back. One thread submits and takes.
class BucketReading {
 public:
  /// What is done with whole entries of a bucket, in any order, by several threads at once.
  using Act = std::function<void(Bytes entries)>;

  BucketReading(ExtentStore& store, const BucketShape& shape, unsigned jobs);

  /// Starts to read a bucket.
  void submit(Bucket bucket, const Act& act);
  /// Buckets submitted and not yet taken.
  [[nodiscard]] std::size_t pending() const { return pending_.size(); }
  /// Waits until the oldest bucket was read and acted upon. Errors: what act threw; Code::io;
  /// Code::interrupted; Code::bug after another error.
  void take(const Events& events);

 private:
  struct Reader {
    BatchReader reads;
    AlignedBuffer arena;
  };
  [[nodiscard]] Bytes read(Reader& reader, const Bucket& bucket, std::uint64_t from,
                           std::uint64_t bytes) const;

  ExtentStore& store_;
  const std::uint64_t arena_bytes_, piece_bytes_;
  std::vector<Reader> readers_;
  std::deque<std::unique_ptr<const Bucket>> pending_;
  bool is_broken_ = false;  // an error came out: what is pending is not whole any more
  OrderedPipeline<std::uint64_t> pipeline_;  // last: its tasks use the rest
};

}  // namespace shale
