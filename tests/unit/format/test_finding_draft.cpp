#include <vector>

#include <doctest/doctest.h>

#include "shale/format/finding_draft.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

// A draft about DIR/x.bin, and what was sent of it.
struct Fixture {
  Fixture() { write_file(dir / "x.bin", "four"); }
  TempDir dir;
  std::vector<Finding> sent;
  FindingSink sink = [this](Finding finding) { sent.push_back(std::move(finding)); };
  FindingDraft draft() { return {InputFile(dir / "x.bin"), sink}; }
};

TEST_CASE("finding draft: each finding has the file's name, and the row and key at hand") {
  Fixture of;
  FindingDraft draft = of.draft();

  draft.report(3, "before any row", "is", "was");
  draft.at_row(7);
  draft.report(4, "key unknown");
  draft.at_key("cat/1.png");
  draft.report(5, "key known");
  draft.at_row(8);
  draft.report(6, "next row");
  draft.at_row(std::nullopt);
  draft.report(7, "behind all rows");

  REQUIRE(of.sent.size() == 5);
  CHECK(describe(of.sent[0]) == "x.bin: byte 3: before any row: found is, expected was");
  CHECK_FALSE(of.sent[0].row.has_value());
  CHECK(of.sent[1].row == 7);
  CHECK_FALSE(of.sent[1].sample.has_value());
  CHECK(of.sent[2].sample.value().key == "cat/1.png");
  CHECK(of.sent[3].row == 8);
  CHECK_FALSE(of.sent[3].sample.has_value());
  CHECK_FALSE(of.sent[4].row.has_value());
}

TEST_CASE("finding draft: nothing of one finding is left in the next") {
  Fixture of;
  FindingDraft draft = of.draft();

  Finding& first = draft.begin("first", 1);
  first.field = "image";
  first.length = 9;
  draft.send("a", "b");
  draft.begin("second");
  draft.send();

  REQUIRE(of.sent.size() == 2);
  CHECK(of.sent[0].field == "image");
  CHECK(of.sent[1].field.empty());
  CHECK_FALSE(of.sent[1].offset.has_value());
  CHECK_FALSE(of.sent[1].length.has_value());
  CHECK(of.sent[1].found.empty());
}

TEST_CASE("finding draft: what somebody else found gets file, row and key") {
  Fixture of;
  FindingDraft draft = of.draft();
  draft.at_row(2);
  draft.at_key("k");
  Finding found;
  found.message = "frame is torn";
  found.offset = 10;
  found.length = 20;
  found.field = "value";
  found.found = "a";
  found.expected = "b";

  draft.pass_on(found);

  REQUIRE(of.sent.size() == 1);
  CHECK(describe(of.sent[0]) ==
        "x.bin: byte 10: sample 'k': field 'value': frame is torn: found a, expected b");
  CHECK(of.sent[0].length == 20);
  CHECK(of.sent[0].row == 2);
}

}  // namespace
}  // namespace shale
