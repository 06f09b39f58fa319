#include "shale/verify/compare_sample.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace shale {
namespace {

constexpr std::uint64_t kComparedBytes = 256 * 1024;

std::string text_of_byte(std::byte byte) {
  return fmt::format("0x{:02x}", std::to_integer<unsigned>(byte));
}

}  // namespace

ExpectedSample expected_of(Bytes bytes, std::string_view what) {
  return {.bytes = bytes.size(),
          .read =
              [bytes](std::uint64_t offset, std::span<std::byte> into) {
                std::ranges::copy(bytes.subspan(offset, into.size()), into.begin());
              },
          .what = what};
}

std::optional<Finding> compare_sample(const InputFile& file, const FieldPlace& place,
                                      const ExpectedSample& expected) {
  Finding finding;
  finding.offset = place.offset;
  if (place.length != expected.bytes) {
    finding.message = fmt::format("sample differs in size from {}", expected.what);
    finding.found = fmt::format("{} bytes", place.length);
    finding.expected = std::to_string(expected.bytes);
    return finding;
  }
  std::vector<std::byte> ours(std::min(kComparedBytes, place.length)), theirs(ours.size());
  for (std::uint64_t offset = 0; offset < place.length; offset += ours.size()) {
    const std::uint64_t count = std::min<std::uint64_t>(ours.size(), place.length - offset);
    const auto found = std::span(ours).first(count), wanted = std::span(theirs).first(count);
    file.read_exact(place.offset + offset, found);
    expected.read(offset, wanted);
    const auto differs = std::ranges::mismatch(found, wanted);
    if (differs.in1 == found.end()) continue;
    const std::uint64_t at = offset + static_cast<std::uint64_t>(differs.in1 - found.begin());
    finding.offset = place.offset + at;
    finding.message = fmt::format("byte {} of the sample differs from {}", at, expected.what);
    finding.found = text_of_byte(*differs.in1);
    finding.expected = text_of_byte(*differs.in2);
    return finding;
  }
  return std::nullopt;
}

}  // namespace shale
