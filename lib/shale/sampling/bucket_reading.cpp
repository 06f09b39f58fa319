#include "shale/sampling/bucket_reading.hpp"

#include <algorithm>
#include <utility>

#include "shale/base/error.hpp"

namespace shale {
namespace {

unsigned reader_count(unsigned jobs) { return std::min(jobs + 1, BucketShape::kMostReaders); }

}  // namespace

BucketReading::BucketReading(ExtentStore& store, const BucketShape& shape, unsigned jobs)
    : store_(store),
      arena_bytes_(shape.arena_bytes),
      // The pages that a piece begins and ends in are read whole.
      piece_bytes_((shape.arena_bytes - 2 * kDirectAlignment) / shape.entry_bytes() *
                   shape.entry_bytes()),
      pipeline_(reader_count(jobs)) {
  for (unsigned i = 0; i < reader_count(jobs); ++i) {
    readers_.push_back({BatchReader({.depth = 32}), {}});
    (void)readers_.back().arena.require(arena_bytes_);
  }
}

void BucketReading::submit(Bucket bucket, const Act& act) {
  pending_.push_back(std::make_unique<const Bucket>(std::move(bucket)));
  const Bucket* const of = pending_.back().get();
  for (std::uint64_t from = 0; from < of->bytes; from += piece_bytes_) {
    const std::uint64_t bytes = std::min(piece_bytes_, of->bytes - from);
    pipeline_.submit([this, of, from, bytes, act](unsigned worker) {
      act(read(readers_[worker], *of, from, bytes));
      return from + bytes;
    });
  }
}

void BucketReading::take(const Events& events) {
  if (is_broken_) throw Error(Code::bug, "buckets were read on after an error");
  is_broken_ = true;
  const Bucket& bucket = *pending_.front();
  std::size_t given = 0;
  for (std::uint64_t done = 0; done < bucket.bytes;) {
    done = pipeline_.take();
    // An extent that the next piece begins in is still needed.
    const std::uint64_t whole = done == bucket.bytes
                                    ? bucket.extents.size()
                                    : (bucket.begin + done) / store_.extent_bytes();
    while (given < whole) store_.give_back(bucket.extents[given++]);
    events.stop_if_asked();
  }
  pending_.pop_front();
  is_broken_ = false;
}

Bytes BucketReading::read(Reader& reader, const Bucket& bucket, std::uint64_t from,
                          std::uint64_t bytes) const {
  const std::uint64_t extent_bytes = store_.extent_bytes();
  const std::uint64_t first = bucket.begin + from;
  const std::uint64_t begin = aligned_down(first), end = aligned_up(first + bytes);
  const std::span<std::byte> arena = reader.arena.require(arena_bytes_);
  std::vector<ExtentStore::Part> parts;
  for (std::uint64_t at = begin; at < end;) {
    const std::uint64_t in_extent = at % extent_bytes;
    const std::uint64_t piece = std::min(end - at, extent_bytes - in_extent);
    parts.push_back({.extent = bucket.extents[at / extent_bytes],
                     .begin = in_extent,
                     .into = arena.subspan(at - begin, piece)});
    at += piece;
  }
  store_.read(reader.reads, parts);
  return arena.subspan(first - begin, bytes);
}

}  // namespace shale
