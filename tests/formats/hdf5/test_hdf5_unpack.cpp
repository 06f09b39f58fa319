#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/trees/hdf5_blocks.hpp"

#include "formats/hdf5/foreign/hdf5_unpack.hpp"
#include "tests/formats/hdf5/foreign_files.hpp"

namespace shale {
namespace {

using test::error_of;
using test::ForeignFile;
using test::ForeignRows;
using test::TempDir;

constexpr std::uint64_t kMemory = 16 << 20;

std::optional<UnpackReport> unpack(const TempDir& dir, const NamelessFile& into,
                                   std::uint64_t memory_bytes = kMemory,
                                   const WalkProgress& progress = {}) {
  const InputFile file(dir / "a.h5");
  return unpack_hdf5_file(
      {.file = file, .into = into, .memory_bytes = memory_bytes, .progress = progress});
}
std::optional<UnpackReport> unpack(const TempDir& dir, std::uint64_t memory_bytes = kMemory) {
  return unpack(dir, NamelessFile(dir.path()), memory_bytes);
}

/// The rows of a.h5, unpacked; nothing may be wrong with them.
ForeignRows unpacked_rows(const TempDir& dir, std::uint64_t memory_bytes = kMemory) {
  const NamelessFile into(dir.path());
  REQUIRE(unpack(dir, into, memory_bytes).has_value());
  ForeignRows rows = test::read_foreign(into.link());
  CHECK(rows.findings.empty());
  return rows;
}

/// Row `row` of a tensor of uint16 that ForeignFile::count() made.
std::string counted(std::uint64_t row, std::uint64_t elements) {
  std::string bytes;
  for (std::uint64_t i = row * elements; i < (row + 1) * elements; ++i) {
    bytes += static_cast<char>(i & 0xff);
    bytes += static_cast<char>(i >> 8 & 0xff);
  }
  return bytes;
}

void check_counted(const std::vector<std::string>& values, std::uint64_t rows,
                   std::uint64_t elements) {
  REQUIRE(values.size() == rows);
  for (std::uint64_t row = 0; row < rows; ++row) {
    CAPTURE(row);
    CHECK(values[row] == counted(row, elements));
  }
}

TEST_CASE("hdf5 unpack: filtered datasets come out as they went in") {
  struct Row {
    std::string_view name;
    void (*set)(hid_t layout);
  };
  const Row rows[] = {
      {"deflate", [](hid_t layout) { H5Pset_deflate(layout, 6); }},
      {"shuffle, deflate",
       [](hid_t layout) {
         H5Pset_shuffle(layout);
         H5Pset_deflate(layout, 1);
       }},
      {"fletcher32", [](hid_t layout) { H5Pset_fletcher32(layout); }},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const TempDir dir;
    {
      ForeignFile file(dir / "a.h5");
      file.chunked({4, 3, 5});
      row.set(file.layout());
      file.count("x", H5T_STD_U16LE, {10, 3, 5});
    }
    const ForeignRows found = unpacked_rows(dir);
    CHECK(found.field("x").kind == Kind::tensor);
    CHECK(found.field("x").shape == std::vector<std::uint64_t>{3, 5});
    check_counted(found.of("x"), 10, 15);
  }
}

TEST_CASE("hdf5 unpack: samples cut over chunks are put together, whatever the memory") {
  // 10 x 7 x 5 elements of 2 bytes; a chunk has 24 bytes, a row of chunks 210.
  for (const std::uint64_t memory : {std::uint64_t{96}, std::uint64_t{500}, kMemory}) {
    CAPTURE(memory);
    const TempDir dir;
    ForeignFile(dir / "a.h5").chunked({3, 2, 2}, true).count("x", H5T_STD_U16LE, {10, 7, 5});
    check_counted(unpacked_rows(dir, memory).of("x"), 10, 35);
  }
}

TEST_CASE("hdf5 unpack: numbers, flat bytes, sequences, strings and keys keep their kinds") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    file.chunked({2}, true).count("label", H5T_STD_I32BE, {3});
    file.chunked({2}).count("weight", H5T_IEEE_F32LE, {3});
    file.chunked({4}, true).flat("image", "onethree!");
    file.offsets("image_offset", {0, 3, 3, 9});
    file.chunked({2}, true).sequences("sound", {"", "ab", std::string(3 << 20, 'z')});
    file.strings("title", {"\xc3\xa4", "", "b"});
    const Hdf5Handle type = ForeignFile::text_type(4);
    file.chunked({2}, true).put("key", type.id(), {3}, type.id(), "a\0\0\0bb\0\0cccc");
  }
  const ForeignRows found = unpacked_rows(dir);
  using Texts = std::vector<std::string>;
  CHECK(found.of("label") == Texts{"0", "1", "2"});
  CHECK(found.of("weight") == Texts{"0.000000", "1.000000", "2.000000"});
  CHECK(found.of("image") == Texts{"one", "", "three!"});
  CHECK(found.of("sound") == Texts{"", "ab", std::string(3 << 20, 'z')});
  CHECK(found.of("title") == Texts{"\xc3\xa4", "", "b"});
  CHECK(found.field("title").kind == Kind::text);
  CHECK(found.field("sound").kind == Kind::bytes);
  CHECK(found.keys == Texts{"a", "bb", "cccc"});
}

TEST_CASE("hdf5 unpack: chunks that were never written have the fill value") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    const std::int64_t fill = 7;
    H5Pset_fill_value(file.layout(), H5T_NATIVE_INT64, &fill);
    file.chunked({2}, true).put("x", H5T_STD_I64LE, {3}, H5T_NATIVE_INT64, nullptr);
  }
  CHECK(unpacked_rows(dir).of("x") == std::vector<std::string>{"7", "7", "7"});
}

TEST_CASE("hdf5 unpack: a dataset without rows has none") {
  const TempDir dir;
  ForeignFile(dir / "a.h5").chunked({2, 3}, true).count("x", H5T_STD_U16LE, {0, 3});
  CHECK(unpacked_rows(dir).rows.empty());
}

TEST_CASE("hdf5 unpack: what is left out is said") {
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    file.chunked({2}, true).count("x", H5T_STD_I64LE, {3});
    file.count("version", H5T_STD_I64LE, {});
  }
  CHECK(unpack(dir).value().notes ==
        std::vector<std::string>{"dataset 'version' is left out: it is a single value"});
}

TEST_CASE("hdf5 unpack: a file that lies plain already is not copied") {
  const TempDir dir;
  ForeignFile(dir / "a.h5").count("x", H5T_STD_I32LE, {4, 2});
  const NamelessFile into(dir.path());
  CHECK_FALSE(unpack(dir, into).has_value());
  CHECK(InputFile(into.link()).size() == 0);
}

TEST_CASE("hdf5 unpack: a chunk larger than a quarter of the memory is refused with both sizes") {
  const TempDir dir;
  ForeignFile(dir / "a.h5").chunked({64, 1024}, true).count("x", H5T_STD_U16LE, {64, 1024});
  const Error error = error_of([&] { (void)unpack(dir, 256 * 1024); });
  CHECK(error.code() == Code::limit);
  CHECK(error.message() ==
        "dataset 'x' has chunks of 128 KiB, but the memory is only enough for 64 KiB");
}

TEST_CASE("hdf5 unpack: what the disk has no room for is refused before it is read") {
  const TempDir dir;
  // 2^50 rows that were never written.
  ForeignFile(dir / "a.h5")
      .chunked({1024}, true)
      .put("x", H5T_STD_I64LE, {hsize_t{1} << 50}, H5T_NATIVE_INT64, nullptr);
  const Error error = error_of([&] { (void)unpack(dir); });
  CHECK(error.code() == Code::io);
  CHECK(error.message().find("the file takes 8 PiB unpacked") == 0);
}

TEST_CASE(
    "hdf5 unpack: datasets that no field can hold are no reason to unpack, and not unpacked") {
  const TempDir dir;
  ForeignFile(dir / "a.h5").chunked({2}).put("x", H5T_STD_REF_OBJ, {4}, H5T_STD_REF_OBJ, nullptr);
  CHECK_FALSE(unpack(dir));
}

TEST_CASE("hdf5 unpack: a damaged deflate stream is damage, by dataset") {
  const TempDir dir;
  ForeignFile(dir / "a.h5").chunked({100, 10}, true).count("x", H5T_STD_U16LE, {100, 10});
  std::string bytes = test::read_text(dir / "a.h5");
  const std::size_t stream = bytes.find("\x78\x9c");
  REQUIRE(stream != std::string::npos);
  std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(stream) + 2, 40, '\xff');
  test::write_file(dir / "a.h5", bytes);
  const Error error = error_of([&] { (void)unpack(dir); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.message() == "dataset 'x' cannot be unpacked");
  CHECK(error.cause().find("inflate") != std::string::npos);
}

TEST_CASE("hdf5 unpack: a filter that the library does not have is refused by name") {
  constexpr H5Z_filter_t kFilter = 32'100;
  const H5Z_class2_t pass = {H5Z_CLASS_T_VERS,
                             kFilter,
                             1,
                             1,
                             "house brand",
                             nullptr,
                             nullptr,
                             [](unsigned, std::size_t, const unsigned*, std::size_t bytes,
                                std::size_t*, void**) -> std::size_t { return bytes; }};
  const TempDir dir;
  {
    ForeignFile file(dir / "a.h5");
    H5Zregister(&pass);
    file.chunked({2});
    H5Pset_filter(file.layout(), kFilter, 0, 0, nullptr);
    file.count("x", H5T_STD_I64LE, {3});
  }
  H5Zunregister(kFilter);
  const Error error = error_of([&] { (void)unpack(dir); });
  CHECK(error.code() == Code::unsupported);
  CHECK(error.message() ==
        "dataset 'x' uses the filter 32100 (house brand), which this HDF5 library does not have");
}

TEST_CASE("hdf5 blocks: every element is in one run of one block") {
  Hdf5Dataset dataset;
  dataset.name = "x";
  dataset.element_bytes = 3;
  dataset.storage = Hdf5Storage::chunked;
  for (const std::uint64_t limit : {36U, 37U, 100U, 400U, 1000U, 100'000U}) {
    CAPTURE(limit);
    dataset.shape = {7, 5, 6};
    dataset.chunk = {2, 3, 2};
    std::vector<int> seen(7 * 5 * 6 * 3);
    for (Hdf5BlockWalk walk(dataset, limit); !walk.is_done(); walk.advance()) {
      CHECK(walk.block_bytes() <= limit);
      std::uint64_t bytes = 0;
      for (Hdf5RunWalk runs(dataset, walk.block()); !runs.is_done(); runs.advance()) {
        bytes += runs.run_bytes();
        for (std::uint64_t i = 0; i < runs.run_bytes(); ++i) ++seen.at(runs.offset() + i);
      }
      CHECK(bytes == walk.block_bytes());
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
  }
}

}  // namespace
}  // namespace shale
