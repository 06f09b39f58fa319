#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/verify/verify.hpp"

#include "tests/support/cut_format.hpp"
#include "tests/support/grid_rows.hpp"

namespace shale {
namespace {

using namespace test;

// A file whose keys lie in FILE.values: "cats/a", "dogs/c".
struct Verified {
  explicit Verified(bool with_checksums) {
    write_file(path, cut_bytes({{"cats", "a", "meow"}, {"dogs", "c", "woof"}}));
    (void)index_file(indexing(path, with_checksums), {});
  }
  [[nodiscard]] std::vector<Finding> findings(VerifyDepth depth) const {
    std::vector<Finding> found;
    VerifyRequest request;
    request.dataset = path;
    request.depth = depth;
    (void)verify(request, [&](Finding finding) { found.push_back(std::move(finding)); }, {});
    return found;
  }
  TempDir dir;
  std::string path = dir / "keys.cut", values = path + ".values";
};

TEST_CASE("verify: values beside a file that are whole are sound at every depth") {
  for (const bool with_checksums : {false, true}) {
    const Verified file(with_checksums);
    CHECK(file.findings(VerifyDepth::quick).empty());
    CHECK(file.findings(VerifyDepth::full).empty());
    if (with_checksums) CHECK(file.findings(VerifyDepth::deep).empty());
  }
}

TEST_CASE("verify: values that are not those of the file are found by their hash and by the scan") {
  for (const bool with_checksums : {false, true}) {
    const Verified file(with_checksums);
    flip(file.values, 7);
    const std::vector<Finding> found = file.findings(VerifyDepth::full);
    REQUIRE(found.size() == 2);
    CHECK(found[0].file == "keys.cut.values");
    CHECK(found[1].file == "keys.cut.values");
    CHECK(found[1].offset == 6);
    CHECK(found[1].message.find("index it again") != std::string::npos);
  }
}

TEST_CASE("verify: values that are cut are found without being read") {
  const Verified file(true);
  write_file(file.values, "cats/a");
  const std::vector<Finding> found = file.findings(VerifyDepth::quick);
  REQUIRE(found.size() == 1);
  CHECK(found[0].file == "keys.cut.values");
}

}  // namespace
}  // namespace shale
