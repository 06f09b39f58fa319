#include "shale/sampling/bucket_dealer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "shale/base/error.hpp"

namespace shale {
namespace {

unsigned reader_count(unsigned jobs) { return std::min(jobs + 1, BucketShape::kMostReaders); }

}  // namespace

BucketDealer::BucketDealer(ExtentStore& store, const BucketShape& shape, std::uint64_t rows,
                           std::uint64_t span)
    : store_(store),
      row_bytes_(shape.row_bytes),
      rows_(rows),
      span_(span),
      cursors_(BucketShape::count(rows, span)),
      buffers_(cursors_.size()),
      buckets_(cursors_.size()) {
  // The first extents are begun at different heights. Buckets of shuffled rows fill at one pace:
  // all would ask for the disk at once, and leave it idle between.
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    buckets_[bucket].begin = aligned_down(store.extent_bytes() * bucket / buckets_.size());
}

template <class Deal>
void BucketDealer::deal_locked(Deal deal) {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
  try {
    deal();
  } catch (...) {
    failure_ = std::current_exception();
    throw;
  }
}

template <std::size_t kRowBytes>
inline void BucketDealer::put(std::uint64_t slot, const std::byte* row) {
  const std::uint64_t row_bytes = kRowBytes != 0 ? kRowBytes : row_bytes_;
  if (slot >= rows_) throw Error(Code::bug, "slot {} was drawn, of {}", slot, rows_);
  const std::size_t bucket = slot / span_;
  const auto tag = static_cast<BucketTag>(slot - bucket * span_);
  Cursor& cursor = cursors_[bucket];
  if (static_cast<std::uint64_t>(cursor.end - cursor.at) >= sizeof(tag) + row_bytes) {
    std::memcpy(cursor.at, &tag, sizeof(tag));
    std::memcpy(cursor.at + sizeof(tag), row, row_bytes);
    cursor.at += sizeof(tag) + row_bytes;
  } else {
    put_split(bucket, bytes_of(tag));
    put_split(bucket, {row, row_bytes});
  }
}

void BucketDealer::put_split(std::size_t bucket, Bytes bytes) {
  Cursor& cursor = cursors_[bucket];
  while (!bytes.empty()) {
    if (cursor.at == cursor.end) {
      if (cursor.at != nullptr) write_extent(bucket);
      open_extent(bucket);
    }
    const std::size_t piece =
        std::min(bytes.size(), static_cast<std::size_t>(cursor.end - cursor.at));
    std::memcpy(cursor.at, bytes.data(), piece);
    cursor.at += piece;
    bytes = bytes.subspan(piece);
  }
}

void BucketDealer::open_extent(std::size_t bucket) {
  buffers_[bucket] = store_.take_buffer();
  const std::span<std::byte> buffer = store_.buffer(buffers_[bucket]);
  const std::uint64_t begin = buckets_[bucket].extents.empty() ? buckets_[bucket].begin : 0;
  cursors_[bucket] = {buffer.data() + begin, buffer.data() + buffer.size()};
}

void BucketDealer::write_extent(std::size_t bucket) {
  Bucket& dealt = buckets_[bucket];
  const std::span<std::byte> buffer = store_.buffer(buffers_[bucket]);
  const std::uint64_t begin = dealt.extents.empty() ? dealt.begin : 0;
  const auto end = static_cast<std::uint64_t>(cursors_[bucket].at - buffer.data());
  const std::uint64_t whole = aligned_up(end);
  std::memset(buffer.data() + end, 0, whole - end);
  cursors_[bucket] = {};
  dealt.extents.push_back(store_.write(buffers_[bucket], begin, whole));
  dealt.bytes += end - begin;
}

void BucketDealer::deal(std::span<const Run> runs) {
  deal_locked([&] {
    with_row_bytes(row_bytes_, [&](auto constant) {
      const std::uint64_t row_bytes = constant() != 0 ? constant() : row_bytes_;
      for (const Run& run : runs) {
        for (const DrawnPlace& place : run.places)
          put<constant()>(place.slot, run.bytes + (place.row - run.first_row) * row_bytes);
      }
    });
  });
}

void BucketDealer::deal_again(Bytes entries) {
  deal_locked([&] {
    with_row_bytes(row_bytes_, [&](auto constant) {
      const std::uint64_t entry_bytes =
          sizeof(BucketTag) + (constant() != 0 ? constant() : row_bytes_);
      const std::byte* const end = entries.data() + entries.size();
      for (const std::byte* entry = entries.data(); entry != end; entry += entry_bytes) {
        BucketTag slot = 0;
        std::memcpy(&slot, entry, sizeof(slot));
        put<constant()>(slot, entry + sizeof(slot));
      }
    });
  });
}

std::vector<Bucket> BucketDealer::finish() {
  deal_locked([&] {
    for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket) {
      if (cursors_[bucket].at != nullptr) write_extent(bucket);
    }
  });
  return std::move(buckets_);
}

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
