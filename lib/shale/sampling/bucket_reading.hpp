#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "shale/base/events.hpp"
#include "shale/flow/ordered_pipeline.hpp"
#include "shale/io/aligned_buffer.hpp"
#include "shale/io/batch_reader.hpp"
#include "shale/io/extent_store.hpp"
#include "shale/sampling/bucket_dealer.hpp"
#include "shale/sampling/bucket_shape.hpp"

namespace shale {

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
