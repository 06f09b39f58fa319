#include <doctest/doctest.h>

#include "shale/io/file_summary.hpp"
#include "shale/verify/verify_files.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// A set of one file, x.bin, in `dir`.
struct Fixture {
  explicit Fixture(VerifyDepth depth = VerifyDepth::full) {
    request.dataset = dir.path();
    request.depth = depth;
    dataset.paths = DatasetPaths(dir.path());
    write_file(dir / "x.bin", "twelve bytes");
    expected = {"x.bin", 12, summarize_file(InputFile(dir / "x.bin")).hash};
  }

  TempDir dir;
  VerifyRequest request;
  OpenedDataset dataset;
  ManifestFile expected;
  FindingSink sink;
  Events events;
  VerifyLog log{sink, events};
  FileChecks files{request, dataset, log};

  [[nodiscard]] bool check() {
    std::optional<InputFile> file;
    return files.check(dir.path(), expected, "", file);
  }
  [[nodiscard]] std::vector<std::string> messages() {
    std::vector<std::string> texts;
    for (const Finding& finding : log.report().first_findings) texts.push_back(finding.message);
    return texts;
  }
};

TEST_CASE("file checks: size and hash are proved, a missing file is a finding") {
  Fixture of;
  CHECK(of.check());

  write_file(of.dir / "x.bin", "Twelve bytes");
  CHECK_FALSE(of.check());
  write_file(of.dir / "x.bin", "more than twelve bytes");
  CHECK_FALSE(of.check());
  std::filesystem::remove(of.dir / "x.bin");
  CHECK_FALSE(of.check());

  REQUIRE(of.messages().size() == 3);
  CHECK(of.messages()[0] == "file hash mismatch");
  CHECK(of.messages()[1] == "file size mismatch");
}

TEST_CASE("file checks: a folder in the place of a file is a finding") {
  Fixture of;
  std::filesystem::remove(of.dir / "x.bin");
  std::filesystem::create_directory(of.dir / "x.bin");

  CHECK_FALSE(of.check());

  REQUIRE(of.messages().size() == 1);
  CHECK(of.messages()[0] == "is a folder, not a regular file");
  CHECK(of.log.report().first_findings[0].file == "x.bin");
}

TEST_CASE("file checks: a quick check reads no bytes") {
  Fixture of(VerifyDepth::quick);
  write_file(of.dir / "x.bin", "Twelve bytes");

  CHECK(of.check());
  CHECK(of.log.report().bytes == 0);
}

TEST_CASE("file checks: strays are told by name, what is not ours is left alone") {
  Fixture of;
  of.dataset.manifest.files = {of.expected};
  write_file(of.dir / "shard-000007.blocks.npy", "");
  write_file(of.dir / "shard-000003.index.npy", "");
  write_file(of.dir / "holiday.txt", "");

  of.files.check_beside_shards();

  REQUIRE(of.log.findings() == 2);
  CHECK(of.log.report().first_findings[0].file == "shard-000003.index.npy");
  CHECK(of.log.report().first_findings[1].file == "shard-000007.blocks.npy");
  CHECK(of.messages()[0] == "the file is not in the manifest");
}

}  // namespace
}  // namespace shale
