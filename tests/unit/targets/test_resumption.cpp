#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "shale/base/path_text.hpp"
#include "shale/io/output_file.hpp"
#include "shale/io/path_facts.hpp"
#include "shale/manifest/csv.hpp"
#include "shale/manifest/naming.hpp"
#include "shale/targets/resumption.hpp"

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

// A work folder with shards 0 (durable), 1 and 2 (whole), and a list of which they know so much.
void leave_run(const std::string& output) {
  WorkFolder work(output);
  work.begin("a test");
  CsvList list(work.path(), std::string(kSkippedName), {"key"});
  for (std::uint64_t number = 0; number < 3; ++number) {
    ManifestShard shard;
    shard.name = shard_name(number);
    const auto make = [&](const std::string& suffix) {
      OutputFile file(join_path(work.path(), shard.name + suffix), {.io = IoMode::buffered});
      file.append(as_bytes(shard.name));
      const FileSummary written = file.finish();
      return ManifestFile{shard.name + suffix, written.bytes, written.hash};
    };
    shard.files = {make(".toy")};
    shard.index = make(std::string(kIndexSuffix));
    shard.blocks = make(std::string(kBlocksSuffix));
    list.add({shard.name});
    RunState state;
    state.samples = number + 1;
    state.skipped_list = list.flush();
    if (number == 0) {
      work.add_shard(shard, state_line(state));
    } else {
      work.add_whole_shard(shard, state_line(state));
    }
  }
}

TEST_CASE("resumption: what a power failure took of shards that were not durable is left out") {
  struct Loss {
    const char* file;
    const char* how;
    std::uint64_t samples;  // that are left
  };
  constexpr Loss kLosses[] = {{"", "", 3},
                              {"shard-000001.toy", "missing", 1},
                              {"shard-000001.toy", "empty", 1},
                              {"shard-000001.toy", "zeros", 1},
                              {"shard-000002.index.npy", "zeros", 2},
                              {"shard-000002.blocks.npy", "missing", 2},
                              {"skipped.csv", "short", 1}};
  for (const Loss& loss : kLosses) {
    CAPTURE(loss.file);
    CAPTURE(loss.how);
    const TempDir dir;
    leave_run(dir / "out");
    WorkFolder work(dir / "out");
    const std::string path = join_path(work.path(), loss.file), how = loss.how;
    if (how == "missing") std::filesystem::remove(path);
    if (how == "empty") write_file(path, "");
    if (how == "zeros") write_file(path, std::string(shard_name(0).size(), '\0'));
    if (how == "short")
      std::filesystem::resize_file(path, std::string("key\nshard-000000\n").size());

    const UnfinishedRun left = find_unfinished_run(work, {});

    CHECK_FALSE(left.fault);
    CHECK(left.state.samples == loss.samples);
    work.resume(left.journal);
    CHECK(work.shards() == loss.samples);
    CHECK(work.previous_run().lines == loss.samples);
    CHECK(work.previous_run().tail.empty());
    // Nothing of what was lost stays in the way.
    for (std::uint64_t number = loss.samples; number < 3; ++number)
      CHECK_FALSE(stands(join_path(work.path(), shard_name(number) + ".toy")));
  }
}

TEST_CASE("resumption: a durable shard that is not as it was is the run's fault, not left out") {
  const TempDir dir;
  leave_run(dir / "out");
  const WorkFolder work(dir / "out");
  std::filesystem::remove(join_path(work.path(), "shard-000000.toy"));
  const UnfinishedRun left = find_unfinished_run(work, {});
  REQUIRE(left.fault);
  CHECK(left.fault->code() == Code::damaged);
}

}  // namespace
}  // namespace shale
