#include <cstddef>
#include <cstdint>
#include <string>

#include "formats/hdf5/hdf5_format.hpp"
#include "tests/formats/hdf5/mend_checksums.hpp"
#include "tests/fuzz/fuzz_scan.hpp"

// Any bytes are a shard: the scan gives rows and findings, and ends. No fuzzer guesses checksums,
// so they are mended.
extern "C" int fuzz_hdf5_own(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  shale::test::mend_checksums(bytes);
  shale::test::scan_as_shard(shale::hdf5_format, bytes);
  shale::test::scan_as_shard(shale::hdf5_format, bytes, shale::Kind::list);
  return 0;
}
