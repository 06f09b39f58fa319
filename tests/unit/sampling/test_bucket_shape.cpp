#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/sampling/bucket_shape.hpp"

#include "tests/support/sizes.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("bucket shape: buckets of the last level fit in memory, and all rows have a bucket") {
  for (const std::uint64_t memory : {2 * kMebi, 16 * kMebi, 64 * kMebi, 1024 * kMebi}) {
    for (const std::uint64_t row : {1U, 4U, 3072U, 131'072U}) {
      if (row > memory / kMostBucketRowShare) continue;
      for (const std::uint64_t rows : {1ULL, 1000ULL, 10'000'000ULL, 1'000'000'000ULL}) {
        CAPTURE(memory);
        CAPTURE(row);
        CAPTURE(rows);
        const BucketShape shape = shape_buckets(row, rows, memory);
        REQUIRE(!shape.spans.empty());
        CHECK(BucketShape::kOutputs * shape.spans.back() * row +
                  BucketShape::kMostReaders * shape.arena_bytes <=
              memory);
        CHECK(std::uint64_t{shape.buffers} * shape.extent_bytes <= memory / 2);
        CHECK(BucketShape::count(rows, shape.spans.front()) < shape.buffers);
        for (std::size_t level = 0; level + 1 < shape.spans.size(); ++level) {
          CHECK(shape.spans[level] % shape.spans[level + 1] == 0);
          CHECK(shape.spans[level] <= std::uint64_t{1} << 32);
        }
        CHECK(shape.scratch_bytes() >= rows * shape.entry_bytes());
      }
    }
  }
}

TEST_CASE("bucket shape: the plan says what the shape takes") {
  const BucketShape shape = shape_buckets(3072, 10'000'000, 16 * kMebi);
  const BucketPlan plan = plan_buckets(3072, 10'000'000, 16 * kMebi);
  CHECK(plan.passes == shape.spans.size());
  CHECK(plan.passes > 1);
  CHECK(plan.scratch_bytes == shape.scratch_bytes());
  CHECK(plan_buckets(0, 5, kMebi).scratch_bytes == 0);
}

TEST_CASE("bucket shape: rows and numbers that the memory cannot hold are refused") {
  const auto code_of = [](std::uint64_t row, std::uint64_t rows, std::uint64_t memory) {
    return error_of([&] { (void)shape_buckets(row, rows, memory); }).code();
  };
  CHECK(code_of(16 * kMebi / kMostBucketRowShare + 1, 1, 16 * kMebi) == Code::limit);
  CHECK(code_of(1, ~std::uint64_t{0}, 2 * kMebi) == Code::limit);
  CHECK(code_of(1, 1, kLeastBucketMemory - 1) == Code::bug);
  CHECK_NOTHROW((void)shape_buckets(16 * kMebi / kMostBucketRowShare, 1, 16 * kMebi));
}

}  // namespace
}  // namespace shale
