#include <doctest/doctest.h>

#include "shale/data/mismatch.hpp"

namespace shale {
namespace {

TEST_CASE("mismatch: an error and a finding say the same fact in the same words") {
  const Mismatch mismatches[] = {
      checksum_mismatch(322, 0x75ab8051, 0x05c98d41), file_hash_mismatch({1, 2}, {3, 4}),
      block_hash_mismatch({1, 2}, {3, 4}), block_list_mismatch("shard-000000.npy", {1, 2}, {3, 4}),
      file_size_mismatch(5, 6)};
  for (const Mismatch& mismatch : mismatches) {
    Finding finding;
    mismatch.describe_in(finding);
    CHECK(describe(finding) == mismatch.error().what());
    CHECK(mismatch.error().code() == Code::damaged);
  }
}

TEST_CASE("mismatch: both checksums are told, with the number of bytes") {
  CHECK(checksum_mismatch(322, 0x75ab8051, 0x05c98d41).error().message() ==
        "checksum mismatch in 322 bytes: found crc32c 0x75ab8051, expected 0x05c98d41");
}

}  // namespace
}  // namespace shale
