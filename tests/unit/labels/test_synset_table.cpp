#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "shale/base/error.hpp"
#include "shale/labels/label_rows.hpp"
#include "shale/labels/synset_table.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// What scipy.io.savemat (scipy 1.17.1, do_compression=True) writes behind the header for structs
// with ILSVRC2012_ID, WNID, words and num_children: three classes, and the root of their tree.
constexpr std::string_view kSynsets =
    "0f000000da000000789ce3636060a86061606003d21c40ccc40001ac503e508a81118ad981b8b832af38b5a418"
    "28cfc2c00715b700624f9fe0b02067230343a3784f1786703f200107e5f94529c5705e5e696e7c7246664e4a51"
    "6a1e03d80c907e98fd7c68f633226110e041126780aa7740d2cf82453f27927a01283fcfc0c8d0d0d2dcc212c9"
    "1c033ce6c000b239307de4b89f8142fd4c48fac9f5bf8181b9b12991fe4777870090553180fe67a6d8ff862626"
    "06e6662624f89f09c51c26868a8a81f33f0b927ef2fc0f0486e6260624f89f19c51c66a0ff2b288e3f009e1423"
    "28";

std::string devkit() {
  std::string bytes = "MATLAB 5.0 MAT-file";
  bytes.resize(124, ' ');
  bytes.append("\0\1IM", 4);
  for (std::size_t i = 0; i < kSynsets.size(); i += 2) {
    unsigned byte = 0;
    std::from_chars(kSynsets.data() + i, kSynsets.data() + i + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return bytes;
}

using Names = std::vector<std::string>;

TEST_CASE("synset table: the classes of a devkit in the order of their numbers, without parents") {
  const TempDir dir;
  write_file(dir / "meta.mat", devkit());
  CHECK(synsets_of_devkit(dir / "meta.mat") == Names{"n02119789", "n02100735", "n01440764"});
  CHECK(synsets_beside(dir / "truth.txt").from == dir / "meta.mat");
}

TEST_CASE("synset table: a devkit that is truncated or changed anywhere is refused, or read") {
  const TempDir dir;
  const std::string whole = devkit();
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const bool cuts : {true, false}) {
      std::string bad = cuts ? whole.substr(0, at) : whole;
      if (!cuts) bad[at] = static_cast<char>(bad[at] ^ 0x41);
      write_file(dir / "meta.mat", bad);
      try {
        (void)synsets_of_devkit(dir / "meta.mat");
      } catch (const Error& error) {
        CHECK(error.code() == Code::bad_content);
      }
    }
  }
}

TEST_CASE("synset table: a map has a name and a number per line, in any order, none missing") {
  const TempDir dir;
  write_file(dir / "map.txt", "n2 2 b\r\nn1 1 a\n\n");
  CHECK(synsets_of_map(dir / "map.txt") == Names{"n1", "n2"});
  for (const char* bad :
       {"", "n1\n", "n1 x\n", "n1 2\n", "n1 1\nn2 1\n", "n1 1\nn1 2\n", "n1 0\n"}) {
    write_file(dir / "map.txt", bad);
    CHECK(error_of([&] { (void)synsets_of_map(dir / "map.txt"); }).code() == Code::bad_content);
  }
}

}  // namespace
}  // namespace shale
