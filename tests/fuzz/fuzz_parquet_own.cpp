#include <cstddef>
#include <cstdint>
#include <string>

#include "formats/parquet/parquet_format.hpp"
#include "tests/fuzz/fuzz_scan.hpp"

// Any bytes are a shard of shale's own, of values and of lists: the scan gives rows and findings,
// and ends. No fuzzer guesses both ends of the file.
extern "C" int fuzz_parquet_own(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size >= 8) bytes.replace(0, 4, "PAR1").replace(size - 4, 4, "PAR1");
  shale::test::scan_as_shard(shale::parquet_format, bytes);
  shale::test::scan_as_shard(shale::parquet_format, bytes, shale::Kind::list);
  return 0;
}
