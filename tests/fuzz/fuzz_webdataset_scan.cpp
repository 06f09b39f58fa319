#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "formats/webdataset/webdataset_format.hpp"
#include "tests/fuzz/fuzz_scan.hpp"

namespace {

constexpr std::size_t kBlock = 512, kSumAt = 148, kSumBytes = 8, kMagicAt = 257;

// No fuzzer guesses the sums of headers.
std::string with_sums(std::string bytes) {
  for (std::size_t at = 0; at + kBlock <= bytes.size(); at += kBlock) {
    if (bytes.compare(at + kMagicAt, 5, "ustar") != 0) continue;
    bytes.replace(at + kSumAt, kSumBytes, kSumBytes, ' ');
    unsigned sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) sum += static_cast<std::uint8_t>(bytes[at + i]);
    bytes.replace(at + kSumAt, kSumBytes - 1, fmt::format("{:06o}", sum) + '\0');
  }
  return bytes;
}

}  // namespace

// Any bytes are a shard, of values and of lists: the scan gives rows and findings, and ends.
extern "C" int fuzz_webdataset_scan(const std::uint8_t* data, std::size_t size) {
  const std::string bytes = with_sums({reinterpret_cast<const char*>(data), size});
  shale::test::scan_as_shard(shale::webdataset_format, bytes);
  shale::test::scan_as_shard(shale::webdataset_format, bytes, shale::Kind::list);
  return 0;
}
