#include <algorithm>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "shale/loading/block_proof.hpp"
#include "shale/shards/index_file.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::uint64_t kBytes = 3 * kBlockBytes + 1000;

// A file of four blocks, their hashes, and reads of it that are proved.
struct ProvedFile {
  ProvedFile() : content(kBytes, '\0') {
    std::mt19937_64 dice(5);
    for (char& byte : content) byte = static_cast<char>(dice());
    for (std::uint64_t at = 0; at < kBytes; at += kBlockBytes)
      hashes.push_back(xxh3_128(as_bytes(content).subspan(at, std::min(kBlockBytes, kBytes - at))));
    write_file(dir / "f", content);
  }
  std::string read(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& places) const {
    const InputFile file(dir / "f");
    std::vector<std::string> parts;
    for (const auto& [offset, length] : places) parts.emplace_back(length, '?');
    std::vector<Extent> extents;
    for (std::size_t i = 0; i < places.size(); ++i)
      extents.push_back(
          {&file, places[i].first, std::as_writable_bytes(std::span(parts[i])), hashes});
    BatchReader reader({.depth = 8});
    AlignedBuffer arena;
    read_proved(extents, reader, arena);
    std::string all;
    for (const std::string& part : parts) all += part;
    return all;
  }
  TempDir dir{"/var/tmp"};
  std::string content;
  std::vector<Hash128> hashes;
};

TEST_CASE("block proof: extents within, across and at the ends of blocks are what was written") {
  const ProvedFile file;
  const std::uint64_t m = kBlockBytes;
  CHECK(file.read({{0, 1}, {m - 1, 1}, {m, 1}}) ==
        std::string() + file.content[0] + file.content[m - 1] + file.content[m]);
  CHECK(file.read({{m - 5, 10}, {2 * m - 5, m + 10}}) ==
        file.content.substr(m - 5, 10) + file.content.substr(2 * m - 5, m + 10));
  CHECK(file.read({{0, kBytes}}) == file.content);
  CHECK(file.read({{kBytes - 1, 1}}) == file.content.substr(kBytes - 1));
  CHECK(file.read({{7, 0}}).empty());
}

TEST_CASE("block proof: a flipped bit is found by whoever reads its block, and by nobody else") {
  const ProvedFile file;
  std::string damaged = file.content;
  damaged[kBlockBytes + 17] = static_cast<char>(damaged[kBlockBytes + 17] ^ 4);
  write_file(file.dir / "f", damaged);

  const Error error = error_of([&] { (void)file.read({{5, 10}, {kBlockBytes + 100, 10}}); });

  CHECK(error.code() == Code::damaged);
  CHECK(error.file() == file.dir / "f");
  CHECK(error.offset() == kBlockBytes + 100);  // the extent that lies in the wrong block
  CHECK(file.read({{5, 10}, {2 * kBlockBytes, 10}}) ==
        file.content.substr(5, 10) + file.content.substr(2 * kBlockBytes, 10));
}

}  // namespace
}  // namespace shale
