#include <doctest/doctest.h>

#include "shale/io/aligned_buffer.hpp"

using namespace shale;

TEST_CASE("aligned buffer: is as long as asked, aligned, and kept while it is long enough") {
  AlignedBuffer buffer;
  const std::span<std::byte> large = buffer.require(100'001);
  const std::byte* where = large.data();

  CHECK(large.size() == 100'001);
  CHECK(reinterpret_cast<std::uintptr_t>(where) % kDirectAlignment == 0);
  for (const std::uint64_t bytes : {1ULL, 4096ULL, 100'001ULL}) {
    CHECK(buffer.require(bytes).data() == where);
    CHECK(buffer.require(bytes).size() == bytes);
  }
  CHECK(buffer.require(0).empty());
  const std::span<std::byte> larger = buffer.require(1 << 20);
  larger.back() = std::byte{7};
  CHECK(larger.size() == 1 << 20);
  CHECK(reinterpret_cast<std::uintptr_t>(larger.data()) % kDirectAlignment == 0);
}
