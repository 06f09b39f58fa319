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
  for (const bool is_strict : {false, true}) {
    Fixture of;
    of.request.is_strict = is_strict;
    of.dataset.manifest.files = {of.expected};
    of.dataset.manifest.layout.file_suffixes = {".tfrecord"};
    write_file(of.dir / "shard-000007.tfrecord", "");
    std::filesystem::create_directory(of.dir / "shard-000003.bak");
    write_file(of.dir / "holiday.txt", "");

    of.files.check_beside_shards();

    const VerifyReport& report = of.log.report();
    CHECK(report.strays == std::vector<std::string>{"shard-000003.bak", "shard-000007.tfrecord"});
    CHECK(report.stray_count == 2);
    CHECK(report.findings == (is_strict ? 2 : 0));
    REQUIRE(report.notes.size() == (is_strict ? 0 : 2));
    if (is_strict) continue;
    CHECK(report.notes[0] == "shard-000003.bak is not part of the dataset");
    CHECK(report.notes[1] ==
          "shard-000007.tfrecord is not part of the dataset, but whatever reads all of "
          "shard-*.tfrecord reads it as well");
  }
}

}  // namespace
}  // namespace shale
