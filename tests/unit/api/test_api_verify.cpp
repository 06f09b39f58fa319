#include <doctest/doctest.h>

#include "shale/verify.hpp"

#include "tests/support/temp_dir.hpp"
#include "tests/unit/api/written_samples.hpp"

namespace shale {
namespace {

using namespace test;

// 25 samples in three shards; a bit of the second one is flipped.
void write_damaged(const std::string& path) {
  (void)write_samples(path, 25);
  const std::string shard = path + "/shard-000001.tfrecord";
  std::string bytes = read_text(shard);
  bytes[bytes.find("image 14")] ^= 1;
  write_file(shard, bytes);
}

TEST_CASE("verify: a dataset is whole, and holds what its source does") {
  const TempDir dir;
  (void)write_samples(dir / "set", 25);
  (void)write_samples(dir / "same", 25);
  const VerifyReport report =
      verify({.dataset = dir / "set", .depth = VerifyDepth::deep, .against = {dir / "same"}});
  CHECK(report.findings == 0);
  CHECK(report.samples == 25);
  CHECK(report.shards == 3);
  CHECK(report.proves_payload);
}

TEST_CASE("verify: labels of nothing, and columns of no file, are refused") {
  const auto refused = [](const VerifyOptions& options) {
    return error_of([&] { (void)verify(options); }).code() == Code::usage;
  };
  CHECK(refused({.dataset = "set", .labels = "labels.csv"}));
  CHECK(refused({.dataset = "set", .against = {"photos"}, .label_column = "label"}));
}

TEST_CASE("verify: damage is a finding, which names its place") {
  const TempDir dir;
  write_damaged(dir / "set");
  std::vector<std::string> told;
  const VerifyReport report = verify(
      {.dataset = dir / "set"}, [&](const Finding& finding) { told.push_back(describe(finding)); });
  CHECK(report.findings > 0);
  REQUIRE_FALSE(told.empty());
  CHECK(told.front().find("shard-000001.tfrecord: byte ") == 0);
  CHECK(verify({.dataset = dir / "set", .depth = VerifyDepth::quick}).findings == 0);
}

TEST_CASE("verify: of a part of the blocks, the damage in it is found and no other") {
  const TempDir dir;
  write_damaged(dir / "set");
  const auto part = [&](const char* sample) {
    return verify({.dataset = dir / "set", .sample = sample});
  };
  const VerifyReport damaged = part("1/3");
  CHECK(damaged.findings > 0);
  CHECK(damaged.part.number == 1);
  CHECK(damaged.part.bytes < damaged.part.all_bytes);
  CHECK(part("2/3").findings == 0);
  CHECK(part("100%").part.bytes == damaged.part.all_bytes);
  const auto refused = [&](const VerifyOptions& options) {
    return error_of([&] { (void)verify(options); }).code() == Code::usage;
  };
  CHECK(refused({.dataset = dir / "set", .depth = VerifyDepth::deep, .sample = "1/3"}));
  CHECK(refused({.dataset = dir / "set", .against = {dir / "set"}, .sample = "1/3"}));
  CHECK(error_of([&] { (void)part("a third"); }).code() == Code::usage);
}

}  // namespace
}  // namespace shale
