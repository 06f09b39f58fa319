#include <chrono>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "shale/base/checksum.hpp"
#include "shale/targets/compare_content.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("compare content: only arrays and files of one size and another fingerprint may differ") {
  const Hash128 one = xxh3_128(as_bytes("1")), other = xxh3_128(as_bytes("2"));
  struct Row {
    ManifestSource was, is;
    bool differs;
  };
  const Row rows[] = {{{"arrays", 5, 50, one}, {"arrays", 5, 50, other}, true},
                      {{"lmdb file", 5, 50, one}, {"lmdb file", 5, 50, other}, true},
                      {{"arrays", 5, 50, one}, {"arrays", 5, 50, one}, false},
                      {{"arrays", 5, 50, one}, {"arrays", 6, 50, other}, false},
                      {{"arrays", 5, 50, one}, {"arrays", 5, 51, other}, false},
                      {{"lmdb file", 5, 50, one}, {"hdf5 file", 5, 50, other}, false},
                      {{"image folder", 5, 50, one}, {"image folder", 5, 50, other}, false}};
  for (const Row& row : rows) CHECK(has_other_content(row.was, row.is) == row.differs);
}

TEST_CASE("compare content: an input is newer by the time of its last file, or of the folder's") {
  const TempDir dir;
  write_file(dir / "out/dataset.json", "{}");
  write_file(dir / "a.npy", "a");
  write_file(dir / "b.npy", "b");
  const auto then = std::filesystem::last_write_time(dir / "out/dataset.json");
  std::filesystem::last_write_time(dir / "a.npy", then - std::chrono::hours(1));
  ConvertRequest request;
  request.inputs = {"x=" + (dir / "a.npy"), dir / "b.npy"};
  request.output = dir / "out";
  for (const auto& [offset, is_newer] : {std::pair{-1, false}, {0, false}, {1, true}}) {
    std::filesystem::last_write_time(dir / "b.npy", then + std::chrono::seconds(offset));
    CHECK(has_newer_input(request, {}) == is_newer);
  }
  SourceInfo folder;
  folder.modified_ns = 1;  // told by the source: the times of the inputs do not count
  CHECK_FALSE(has_newer_input(request, folder));
  std::filesystem::remove(dir / "b.npy");
  CHECK(error_of([&] { (void)has_newer_input(request, {}); }).code() == Code::io);
}

}  // namespace
}  // namespace shale
