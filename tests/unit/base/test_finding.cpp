#include <doctest/doctest.h>

#include "shale/base/finding.hpp"

namespace shale {

TEST_CASE("finding: everything that is known stands in one line") {
  Finding finding;
  finding.message = "payload checksum differs";
  finding.file = "shard-000007.h5";
  finding.offset = 4096;
  finding.sample = SampleId{"n01/42", 3};
  finding.field = "image";
  finding.found = "0x9ae1c004";
  finding.expected = "0x1b22f7d0";
  CHECK(
      describe(finding) ==
      "shard-000007.h5: byte 4096: sample 'n01/42': field 'image': payload checksum differs: found "
      "0x9ae1c004, expected 0x1b22f7d0");
}

TEST_CASE("finding: what is not known is left out") {
  Finding finding;
  finding.message = "rows are missing";
  CHECK(describe(finding) == "rows are missing");
  finding.shard = "shard-000001";
  finding.row = 9;
  CHECK(describe(finding) == "shard-000001: row 9: rows are missing");
  finding.sample = SampleId{"", 1009};
  CHECK(describe(finding) == "shard-000001: sample 1009: rows are missing");
  finding.expected = "10";
  CHECK(describe(finding) == "shard-000001: sample 1009: rows are missing: expected 10");
}

TEST_CASE("finding: bytes of a damaged file cannot forge a second line") {
  Finding finding;
  finding.message = "key differs";
  finding.file = "a\nb";
  finding.field = "\x1b";
  finding.found = "x\ny";
  CHECK(describe(finding) == "a\\nb: field '\\x1b': key differs: found x\\ny");
}

}  // namespace shale
