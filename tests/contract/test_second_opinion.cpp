#include <filesystem>
#include <string>
#include <string_view>

#include "tests/contract/contract_tools.hpp"

// What verify --deep does with what the container's own library says (Format::scan_by_library).

namespace shale {
namespace {

using namespace test;

VerifyReport deeply_verified(const std::string& dataset) {
  VerifyRequest request;
  request.dataset = dataset;
  request.depth = VerifyDepth::deep;
  request.jobs = 3;
  request.memory_bytes = 16 << 20;
  return verify(request, {}, {});
}

// A toy set of two shards, whose second sample has this key.
VerifyReport toy_set_with(std::string_view key) {
  const TempDir dir;
  SampleSet set = small_set(toy_format, 6);
  set.samples[1].key = key;
  (void)write_set(toy_format, set, dir / "out", {.limit_samples = 3});
  return deeply_verified(dir / "out");
}

TEST_CASE("second opinion: the library of every format that has one agrees, shard by shard") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    (void)write_set(format, plain_samples(schema, 7, 60), dir / "out", {.limit_samples = 3});
    const VerifyReport report = deeply_verified(dir / "out");
    CHECK(first_finding(report) == "");
    CHECK(report.notes.empty());
    const SecondOpinion& opinion = report.second_opinion;
    const bool has_library = format.scan_by_library != nullptr;
    CHECK(opinion.library.empty() == !has_library);
    CHECK(opinion.shards == (has_library ? report.shards : 0));
    CHECK(opinion.samples == (has_library ? 7 : 0));
    CHECK(opinion.findings == 0);
    CHECK(verified(dir / "out").second_opinion.library.empty());
  });
}

TEST_CASE("second opinion: another value is a finding with sample, field and both sides") {
  const VerifyReport report = toy_set_with("liar");
  REQUIRE(report.findings == 1);
  CHECK(report.second_opinion.findings == 1);
  const Finding& finding = report.first_findings[0];
  CHECK(finding.message == "the container's own library reads a different value");
  CHECK(finding.row == 1);
  CHECK(finding.sample->key == "liar");
  CHECK(finding.field == full_schema(toy_format).fields[0].name);
  CHECK(finding.found != finding.expected);
}

TEST_CASE("second opinion: a sample that the library does not give is a finding") {
  CHECK(toy_set_with("lost").findings > 0);
}

TEST_CASE("second opinion: a library that dies of a shard is a finding, and the next is read") {
  const VerifyReport report = toy_set_with("deadly");
  REQUIRE(report.findings == 1);
  CHECK(report.first_findings[0].message == "libtoy 1.0 died of signal 11 (SIGSEGV) on this file");
  CHECK(report.first_findings[0].shard == "shard-000000");
  CHECK(report.second_opinion.shards == 2);
}

TEST_CASE("second opinion: a library that cannot be run is a note, not damage") {
  const VerifyReport report = toy_set_with("short");
  CHECK(report.findings == 0);
  CHECK(report.second_opinion.shards == 1);
  REQUIRE(report.notes.size() == 1);
  CHECK(report.notes[0] ==
        "the second opinion of libtoy 1.0 is missing for 1 shard (no room for it)");
}

TEST_CASE("second opinion: a shard that is damaged is not shown to the library") {
  const TempDir dir;
  SampleSet set = small_set(toy_format, 6);
  set.samples[1].key = "deadly";
  (void)write_set(toy_format, set, dir / "out", {.limit_samples = 3});
  std::filesystem::resize_file(dir / "out/shard-000000.blocks.npy", 10);
  const VerifyReport report = deeply_verified(dir / "out");
  CHECK(report.findings > 0);
  CHECK(report.second_opinion.findings == 0);
  CHECK(report.second_opinion.shards == 1);
}

}  // namespace
}  // namespace shale
