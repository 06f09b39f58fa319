#include <cstddef>
#include <cstdint>
#include <string>

#include "shale/base/checksum.hpp"

#include "formats/record/record_format.hpp"
#include "formats/record/record_frames.hpp"
#include "tests/fuzz/fuzz_scan.hpp"

namespace {

std::string framed(const std::string& payload) {
  std::string frame(shale::as_text(shale::frame_header(payload.size())));
  frame += payload;
  frame +=
      shale::as_text(shale::bytes_of(shale::mask_crc(shale::crc32c(shale::as_bytes(payload)))));
  return frame;
}

}  // namespace

// Any bytes are a shard: the scan gives rows and findings, and ends; and a file of another tool,
// whose survey gives a schema or an error. No fuzzer guesses checksums: the bytes are also tried as
// the payload of a frame.
extern "C" int fuzz_record_scan(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  shale::test::scan_as_shard(shale::record_format, bytes);
  shale::test::scan_as_surveyed(shale::record_format, bytes);
  shale::test::scan_as_surveyed(shale::record_format, framed(bytes));
  return 0;
}
