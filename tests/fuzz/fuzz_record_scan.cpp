#include <cstddef>
#include <cstdint>

#include "formats/record/record_format.hpp"
#include "tests/fuzz/fuzz_scan.hpp"

// Any bytes are a shard: the scan gives rows and findings, and ends.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  shale::test::scan_as_shard(shale::record_format, {reinterpret_cast<const char*>(data), size});
  return 0;
}
