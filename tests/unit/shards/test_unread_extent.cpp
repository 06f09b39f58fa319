#include <string>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/io/input_file.hpp"
#include "shale/shards/unread_extent.hpp"

#include "support/temp_dir.hpp"

namespace shale::test {
namespace {

const std::string kContent = "0123456789";

Error error_of_reading(const UnreadExtent& extent) {
  return error_of([&] { extent.for_each_piece([](Bytes) {}); });
}

}  // namespace

TEST_CASE("unread extent: a part of a file, proved by the checksum that it must have") {
  const TempDir dir;
  write_file(dir / "file", kContent);
  const InputFile file(dir / "file");
  const std::uint32_t crc = crc32c(as_bytes(std::string_view(kContent)).subspan(2, 5));
  int steps = 0;
  const auto extent = [&](std::uint64_t offset, std::optional<std::uint32_t> expected) {
    return std::make_unique<UnreadExtent>(
        UnreadExtent::Place{
            .descriptor = file.descriptor(), .offset = offset, .bytes = 5, .crc32c = expected},
        [&steps] { ++steps; });
  };
  std::string found;
  extent(2, crc)->for_each_piece([&](Bytes piece) { found += as_text(piece); });
  CHECK(found == "23456");
  CHECK(steps == 1);

  const Error wrong = error_of_reading(*extent(3, crc));
  CHECK(wrong.code() == Code::damaged);
  CHECK(wrong.offset() == 3);
  CHECK(error_of_reading(*extent(6, std::nullopt)).code() == Code::damaged);  // the file ends
}

TEST_CASE("unread extent: without a known checksum a change between two readings is an error") {
  const TempDir dir;
  write_file(dir / "file", kContent);
  const InputFile file(dir / "file");
  const UnreadExtent extent({.descriptor = file.descriptor(), .offset = 0, .bytes = 10}, nullptr);
  (void)extent.crc32c();
  write_file(dir / "file", "9876543210");
  CHECK(error_of_reading(extent).code() == Code::io);
}

}  // namespace shale::test
