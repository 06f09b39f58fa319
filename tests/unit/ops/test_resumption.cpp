#include <doctest/doctest.h>

#include "shale/ops/resumption.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

ConvertRequest request_by(std::string generator) {
  ConvertRequest request;
  request.generator = std::move(generator);
  request.output = "/out";
  return request;
}

UnfinishedRun left_with(std::string head) {
  UnfinishedRun left;
  left.journal.head = std::move(head);
  left.journal.lines = 1;
  return left;
}

TEST_CASE("resumption: a run of another version is not gone on with, and the two are named") {
  const Manifest wanted;
  const ConvertRequest old = request_by("shale 1.2.3"), now = request_by("shale 1.2.4");
  const UnfinishedRun left = left_with(journal_head(old, wanted, {}));
  const std::string head = journal_head(now, wanted, {});
  CHECK(resumption_of(old, left, journal_head(old, wanted, {})));
  CHECK_FALSE(resumption_of(now, left, head));
  const std::string text = error_of([&] { refuse_other_run(now, left, head); }).what();
  CHECK(text.find("version: shale 1.2.3 before, shale 1.2.4 now") != std::string::npos);
}

TEST_CASE("resumption: a run that overwrites is gone on with by either command, others are not") {
  const Manifest wanted;
  ConvertRequest plain = request_by("shale"), overwriting = plain;
  overwriting.overwrite = true;
  const std::string head = journal_head(plain, wanted, {});
  const std::string overwriting_head = journal_head(overwriting, wanted, {});
  CHECK(resumption_of(plain, left_with(head), head));
  CHECK(resumption_of(plain, left_with(overwriting_head), head));
  CHECK(resumption_of(overwriting, left_with(overwriting_head), overwriting_head));
  CHECK_FALSE(resumption_of(overwriting, left_with(head), overwriting_head));
}

TEST_CASE("resumption: an input file that was written again is another one") {
  const TempDir dir;
  const auto stamp = [&] {
    Identity identity;
    add_stamp(identity, dir / "x.npy");
    return identity_line(identity);
  };
  write_file(dir / "x.npy", "one");
  const std::string before = stamp();
  CHECK(before.find("x.npy") != std::string::npos);
  CHECK(stamp() == before);
  write_file(dir / "x.npy", "three");
  CHECK(stamp() != before);
}

}  // namespace
}  // namespace shale
