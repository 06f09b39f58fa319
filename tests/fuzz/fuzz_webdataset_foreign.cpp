#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "formats/webdataset/webdataset_foreign.hpp"
#include "formats/webdataset/webdataset_format.hpp"
#include "tests/fuzz/fuzz_scan.hpp"

namespace {

// No fuzzer guesses checksums: those of the headers are corrected.
std::string with_checksums(std::string bytes) {
  constexpr std::size_t kBlock = 512, kChecksumAt = 148, kSizeAt = 124;
  for (std::size_t at = 0; at + kBlock <= bytes.size();) {
    bytes.replace(at + kChecksumAt, 8, "        ");
    unsigned sum = 0;
    for (std::size_t i = 0; i < kBlock; ++i) sum += static_cast<unsigned char>(bytes[at + i]);
    bytes.replace(at + kChecksumAt, 6, fmt::format("{:06o}", sum));
    std::size_t size = 0;
    for (std::size_t i = 0;
         i < 11 && bytes[at + kSizeAt + i] >= '0' && bytes[at + kSizeAt + i] <= '7'; ++i)
      size = size * 8 + static_cast<std::size_t>(bytes[at + kSizeAt + i] - '0');
    at += kBlock + std::min(bytes.size(), (size + kBlock - 1) / kBlock * kBlock);
  }
  return bytes;
}

void salvage(std::string_view bytes) {
  const shale::test::FuzzedFile file(bytes);
  const shale::Format& format = shale::webdataset_format;
  try {
    const shale::Survey survey = format.salvage(file.files()[0], {}, {});
    std::uint64_t end = 0;
    for (const shale::LostRange& lost : survey.lost) {
      if (lost.offset < end || lost.length > bytes.size() - lost.offset) __builtin_trap();
      end = lost.offset + lost.length;
    }
    shale::ShardInput input{file.files(), survey.schema, survey.layout, true};
    input.lost = &survey.lost;
    format.scan(
        input, shale::OptionSet(format.options), [](const shale::IndexRow&) {},
        [](const shale::Finding&) {});
  } catch (const shale::Error& error) {
    if (error.code() == shale::Code::io || error.code() == shale::Code::bug) __builtin_trap();
  }
}

}  // namespace

// Any bytes are an archive of another tool, whose survey gives a schema or an error, and whose scan
// gives rows that lie in it, whether it is whole or not.
extern "C" int fuzz_webdataset_foreign(const std::uint8_t* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  shale::test::scan_as_surveyed(shale::webdataset_format, bytes);
  const std::string summed = with_checksums(bytes);
  shale::test::scan_as_surveyed(shale::webdataset_format, summed);
  salvage(summed);
  return 0;
}
