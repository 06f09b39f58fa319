#include <filesystem>

#include <doctest/doctest.h>

#include "tests/formats/record/record_tools.hpp"

// formats/record/golden: what is peculiar to this format. tests/contract/test_golden.cpp has what
// every format promises.

namespace shale {
namespace {

const Schema kSchema{.fields = {{"image", Kind::bytes, {}, {}}, {"label", Kind::integer, {}, {}}}};

test::Scanned scan_golden(const std::string& name) {
  const std::filesystem::path root =
      std::filesystem::path(__FILE__).parent_path().parent_path().parent_path().parent_path();
  return test::scan_shard((root / "formats/record/golden" / name).string(), kSchema);
}

TEST_CASE(
    "record golden: features in protobuf's order of the day are found out of order, and read all "
    "the same") {
  const test::Scanned sorted = scan_golden("reference/tfrecord-1.14.6.tfrecord");
  const test::Scanned unsorted = scan_golden("unsorted/tfrecord-1.14.6.tfrecord");

  REQUIRE(unsorted.rows.size() == sorted.rows.size());
  for (std::size_t i = 0; i < sorted.rows.size(); ++i) {
    CHECK(unsorted.rows[i].key_hash == sorted.rows[i].key_hash);
    CHECK(unsorted.rows[i].cells[0].place.crc32c == sorted.rows[i].cells[0].place.crc32c);
    CHECK(unsorted.rows[i].cells[1].integer == sorted.rows[i].cells[1].integer);
  }
  CHECK(!unsorted.findings.empty());
  for (const Finding& finding : unsorted.findings)
    CHECK(finding.message == "features are not sorted by name");
}

TEST_CASE("record golden: each refused file is named by what is wrong with it") {
  struct Row {
    std::string_view name, message;
    std::size_t rows;  // that could still be read
  };
  constexpr Row kRows[] = {
      {"length-crc", "checksum mismatch in the length of the frame", 1},
      {"payload-crc", "checksum mismatch in the payload of the frame", 5},
      {"cut-in-payload", "frame reaches beyond the end of the file", 4},
      {"cut-in-header", "file ends inside a frame", 1},
      {"overlong-length", "frame reaches beyond the end of the file", 1},
      {"no-example", "payload is not a tf.train.Example", 1},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const test::Scanned scanned = scan_golden("refused/" + std::string(row.name) + ".tfrecord");
    CHECK(scanned.rows.size() == row.rows);
    REQUIRE(scanned.findings.size() == 1);
    CHECK(scanned.findings[0].message.starts_with(row.message));
  }
}

}  // namespace
}  // namespace shale
