#include <doctest/doctest.h>

#include "shale/wire/idx_header.hpp"

namespace shale {
namespace {

std::string idx(char type, const std::vector<std::uint32_t>& sides) {
  std::string bytes{'\0', '\0', type, static_cast<char>(sides.size())};
  for (const std::uint32_t side : sides) append_big_endian(bytes, side);
  return bytes;
}

TEST_CASE("idx header: type, sides and offset are those of the array") {
  const std::optional<NpyHeader> header = idx_header_of(as_bytes(idx(0x0d, {60'000, 28, 28})));

  REQUIRE(header);
  CHECK(header->dtype.descr() == "<f4");
  CHECK(header->swaps.size() == 1);
  CHECK(header->shape == std::vector<std::uint64_t>{60'000, 28, 28});
  CHECK(header->data_offset == 16);
}

TEST_CASE("idx header: what does not begin so, or is too large, is none") {
  const std::uint32_t most = 0xffff'ffff;
  for (const std::string& bytes :
       {std::string(), idx(0x08, {3}).substr(0, 7), idx(0x0a, {3}), idx(0x08, {}),
        "\1" + idx(0x08, {3}).substr(1), idx(0x0e, {most, most})}) {
    CHECK_FALSE(idx_header_of(as_bytes(bytes)));
  }
}

TEST_CASE("idx header: a file is known by its size, else by its name") {
  const std::string bytes = idx(0x08, {2, 3});

  CHECK(idx_header_of_file(as_bytes(bytes), bytes.size() + 6, "images"));
  CHECK_FALSE(idx_header_of_file(as_bytes(bytes), bytes.size() + 5, "images"));
  CHECK(idx_header_of_file(as_bytes(bytes), bytes.size() + 5, "a/train-images-idx2-ubyte"));
  CHECK(has_idx_name("t10k-labels.idx1-ubyte.gz"));
  CHECK_FALSE(has_idx_name("idx3-/index.bin"));
}

}  // namespace
}  // namespace shale
