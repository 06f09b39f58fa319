#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/sampling/bucket_dealer.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::uint64_t kMemory = 2 << 20;

// Rows whose bytes tell their number, dealt to buckets and read back by BucketReading.
struct Dealing {
  Dealing(std::uint64_t row_bytes, std::uint64_t row_count)
      : rows(row_count), shape(shape_buckets(row_bytes, rows, kMemory)), all(rows * row_bytes) {
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = static_cast<std::byte>(i / row_bytes * 31 + i % row_bytes);
  }
  // Deals each row to the slot that `slots` says, in runs of `run` rows.
  std::vector<Bucket> deal(const std::vector<std::uint64_t>& slots, std::uint64_t run) {
    BucketDealer dealer(store, shape, rows, shape.spans[0]);
    for (std::uint64_t first = 0; first < rows; first += run) {
      std::vector<DrawnPlace> places;
      for (std::uint64_t row = first; row < std::min(rows, first + run); ++row)
        places.push_back({row, slots[row]});
      const BucketDealer::Run one{all.data() + first * shape.row_bytes, first, places};
      dealer.deal({&one, 1});
    }
    std::vector<Bucket> buckets = dealer.finish();
    store.settle();
    return buckets;
  }
  // The rows that the buckets hold, by slot.
  std::map<std::uint64_t, std::vector<std::byte>> read(std::vector<Bucket> buckets) {
    BucketReading reading(store, shape, 2);
    std::map<std::uint64_t, std::vector<std::byte>> found;
    std::mutex mutex;
    for (std::uint64_t bucket = 0; bucket < buckets.size(); ++bucket) {
      reading.submit(std::move(buckets[bucket]), [&, bucket](Bytes entries) {
        const std::lock_guard lock(mutex);
        for (; !entries.empty(); entries = entries.subspan(shape.entry_bytes())) {
          BucketTag tag = 0;
          std::memcpy(&tag, entries.data(), sizeof(tag));
          const Bytes row = entries.subspan(sizeof(tag), shape.row_bytes);
          found[bucket * shape.spans[0] + tag].assign(row.begin(), row.end());
        }
      });
      reading.take({});
    }
    CHECK(reading.pending() == 0);
    return found;
  }

  std::uint64_t rows;
  BucketShape shape;
  std::vector<std::byte> all;
  TempDir dir;
  ExtentStore store{dir.path(), shape.extent_bytes, shape.buffers, shape.scratch_bytes()};
};

TEST_CASE("bucket dealer: every row is read back from its slot's bucket, whole, for any size") {
  const std::uint64_t seed = std::random_device()();
  MESSAGE("seed " << seed);
  std::mt19937_64 dice(seed);
  for (const std::uint64_t row_bytes : {1U, 3U, 8U, 16U, 1000U, 40'000U}) {
    CAPTURE(row_bytes);
    Dealing dealing(row_bytes, 4'000'000 / (row_bytes + 40));
    std::vector<std::uint64_t> slots(dealing.rows);
    std::iota(slots.begin(), slots.end(), std::uint64_t{0});
    std::shuffle(slots.begin(), slots.end(), dice);
    const auto found = dealing.read(dealing.deal(slots, 1 + dice() % 500));
    REQUIRE(found.size() == dealing.rows);
    std::uint64_t wrong = 0;
    for (std::uint64_t row = 0; row < dealing.rows; ++row) {
      const Bytes expected = Bytes(dealing.all).subspan(row * row_bytes, row_bytes);
      wrong += std::ranges::equal(found.at(slots[row]), expected) ? 0 : 1;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("bucket dealer: a slot that there is not is a bug, and so is every deal after it") {
  Dealing dealing(8, 100);
  BucketDealer dealer(dealing.store, dealing.shape, 100, dealing.shape.spans[0]);
  const auto deal = [&](std::uint64_t slot) {
    const DrawnPlace place{0, slot};
    const BucketDealer::Run run{dealing.all.data(), 0, {&place, 1}};
    dealer.deal({&run, 1});
  };
  CHECK_NOTHROW(deal(99));
  CHECK(error_of([&] { deal(100); }).code() == Code::bug);
  CHECK(error_of([&] { deal(0); }).code() == Code::bug);
}

// One bucket of 100,000 rows of 36 bytes, several pieces and extents long.
struct Filled {
  Filled() {
    BucketDealer dealer(store, shape, kRows, kRows);
    const std::vector<std::byte> row(36);
    for (std::uint64_t slot = 0; slot < kRows; ++slot) {
      const DrawnPlace place{0, slot};
      const BucketDealer::Run run{row.data(), 0, {&place, 1}};
      dealer.deal({&run, 1});
    }
    bucket = std::move(dealer.finish().at(0));
    store.settle();
  }
  static constexpr std::uint64_t kRows = 100'000;
  TempDir dir;
  BucketShape shape = shape_buckets(36, kRows, 2 << 20);
  ExtentStore store{dir.path(), shape.extent_bytes, shape.buffers, shape.scratch_bytes()};
  Bucket bucket;
};

TEST_CASE("bucket reading: pieces are whole entries and together the whole bucket") {
  Filled filled;
  BucketReading reading(filled.store, filled.shape, 1);
  std::atomic<std::uint64_t> pieces = 0, bytes = 0, broken = 0;
  const std::uint64_t all = filled.bucket.bytes;
  reading.submit(std::move(filled.bucket), [&](Bytes entries) {
    ++pieces;
    bytes += entries.size();
    broken += entries.size() % filled.shape.entry_bytes();
  });
  CHECK(reading.pending() == 1);
  reading.take({});
  CHECK(all == Filled::kRows * 40);
  CHECK(bytes == all);
  CHECK(broken == 0);
  CHECK(pieces > 1);
}

TEST_CASE("bucket reading: after an error, or a stop, nothing more is taken") {
  for (const bool is_stopped : {false, true}) {
    CAPTURE(is_stopped);
    Filled filled;
    BucketReading reading(filled.store, filled.shape, 2);
    Events events;
    events.should_stop = [=] { return is_stopped; };
    reading.submit(std::move(filled.bucket), [&](Bytes) {
      if (!is_stopped) throw Error(Code::damaged, "of this test");
    });
    CHECK(error_of([&] { reading.take(events); }).code() ==
          (is_stopped ? Code::interrupted : Code::damaged));
    CHECK(error_of([&] { reading.take({}); }).code() == Code::bug);
  }
}

}  // namespace
}  // namespace shale
