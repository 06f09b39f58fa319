#include <atomic>
#include <string>

#include <doctest/doctest.h>

#include "shale/sampling/bucket_reading.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

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
