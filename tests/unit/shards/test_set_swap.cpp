#include <filesystem>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "shale/base/path_text.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/place.hpp"
#include "shale/shards/set_swap.hpp"
#include "shale/shards/shard_set_writer.hpp"

#include "tests/support/sampled_walk.hpp"
#include "tests/support/toy_format.hpp"
#include "tests/support/toy_rows_format.hpp"
#include "tests/support/written_set.hpp"
#include "tests/unit/io/child_process.hpp"

// The calls that change a folder, of this whole test program, which end the process or fail once so
// many of them have been made.
namespace {

enum class Fault { none, kill, error };
Fault fault = Fault::none;
int calls_before_fault = 0;
bool has_no_links = false;  // as some file systems

bool fails_now() {
  if (fault == Fault::none || calls_before_fault-- > 0) return false;
  if (fault == Fault::kill) ::_exit(9);
  errno = EIO;
  return true;
}

template <class... Arguments>
int call(long number, Arguments... arguments) {
  return fails_now() ? -1 : static_cast<int>(::syscall(number, arguments...));
}

}  // namespace

extern "C" int rename(const char* from, const char* to) noexcept {
  return call(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0U);
}
extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                         unsigned flags) noexcept {
  return call(SYS_renameat2, from_folder, from, to_folder, to, flags);
}
extern "C" int linkat(int from_folder, const char* from, int to_folder, const char* to,
                      int flags) noexcept {
  if (has_no_links) {
    errno = EPERM;
    return -1;
  }
  return call(SYS_linkat, from_folder, from, to_folder, to, flags);
}
extern "C" int unlink(const char* path) noexcept { return call(SYS_unlinkat, AT_FDCWD, path, 0); }
extern "C" int fsync(int descriptor) { return call(SYS_fsync, descriptor); }

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

using Content = std::map<std::string, std::string>;

SampleSet samples_of(std::size_t count) {
  return plain_samples(schema_of(toy_format.can.kinds), count, 40);
}

// A work folder that holds a complete new set, as a run leaves it that is killed at that moment.
void complete_in_work_folder(const std::string& directory, std::size_t samples) {
  const TempDir other;
  (void)write_set(toy_format, samples_of(samples), other / "new", {.limit_samples = 3});
  const WorkFolder work(directory);
  for (const std::string& name : files_in(other / "new"))
    fs::copy_file(join_path(other / "new", name), join_path(work.path(), name));
}

// A folder with the set of 5 samples, another of 9 that is to take its place, and a user's files.
void prepare(const std::string& directory) {
  (void)write_set(toy_format, samples_of(5), directory, {.limit_samples = 2});
  complete_in_work_folder(directory, 9);
  write_file(join_path(directory, "notes.txt"), "mine");
  write_file(join_path(directory, "shard-000000.bak/old"), "mine");
  write_file(join_path(directory, ".shale/notes.txt"), "mine");
}

void finish(const std::string& directory) {
  WorkFolder work(directory);
  (void)finish_swap(SetPlace::of_dataset(directory), work);
  work.clear();
}

// What a reader may see while a set is being replaced: a whole one, or without hard links none.
std::string fault_of_reader(const std::string& directory) {
  if (look_at(directory) != Place::dataset) return has_no_links ? "" : "unfinished";
  try {
    const std::size_t samples = read_set(directory).samples.size();
    return samples == 5 || samples == 9 ? "" : "another number of samples";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST_CASE("set swap: killed or failing at any step, it is finished by the next run" *
          doctest::test_suite("slow")) {
  const TempDir dir;
  prepare(dir / "undisturbed");
  finish(dir / "undisturbed");
  const Content expected = content_of(dir / "undisturbed");
  for (const auto& faults : {std::pair(Fault::kill, false), std::pair(Fault::error, false),
                             std::pair(Fault::kill, true), std::pair(Fault::error, true)}) {
    const Fault kind = faults.first;
    has_no_links = faults.second;
    const SampledWalk walk(90, 20);
    std::size_t step = walk.first;
    for (bool was_stopped = true; was_stopped; step += walk.step) {
      CAPTURE(step);
      REQUIRE(step < 200);
      const TempDir run;
      prepare(run / "out");
      const std::string end = text_from_child([&]() -> std::string {
        fault = kind;
        calls_before_fault = static_cast<int>(step);
        WorkFolder work(run / "out");
        (void)finish_swap(SetPlace::of_dataset(run / "out"), work);
        return "done";
      });
      was_stopped = end != "done";
      CHECK(fault_of_reader(run / "out") == "");
      finish(run / "out");
      CHECK(content_of(run / "out") == expected);
    }
    CHECK(step > 20);
  }
  has_no_links = false;
}

// Of a set of 5 samples, 2 a shard, shards 0 to 2 are there: 3 would be of the new one.
void take_name(const std::string& kind, const std::string& path, const std::string& precious) {
  write_file(precious, "mine");
  if (kind == "file") write_file(path, "mine");
  if (kind == "folder") write_file(path + "/deep", "mine");
  if (kind == "link") fs::create_symlink(precious, path);
  if (kind == "loose link") fs::create_symlink("nowhere", path);
  if (kind == "hard link") fs::create_hard_link(precious, path);
}

TEST_CASE("set swap: what somebody else has under a name of the new set is refused, untouched") {
  for (const std::string kind : {"file", "folder", "link", "loose link", "hard link"}) {
    for (const std::string name : {"shard-000003.body.toy", "shard-000003.index.npy"}) {
      CAPTURE(kind);
      CAPTURE(name);
      const TempDir dir;
      (void)write_set(toy_format, samples_of(5), dir / "out", {.limit_samples = 2});
      complete_in_work_folder(dir / "out", 12);
      take_name(kind, dir / ("out/" + name), dir / "precious");
      const Content before = content_of(dir.path());
      WorkFolder work(dir / "out");
      const SetPlace place = SetPlace::of_dataset(dir / "out");

      const Error beforehand = error_of([&] {
        refuse_foreign_files(place, {".head.toy", ".body.toy", ".index.npy", ".blocks.npy"});
      });
      const Error error = error_of([&] { (void)finish_swap(place, work); });

      CHECK(beforehand.code() == Code::exists);
      CHECK(error.code() == Code::exists);
      CHECK(error.file() == dir / ("out/" + name));
      CHECK(content_of(dir.path()) == before);
    }
  }
}

TEST_CASE("set swap: a manifest that lists a user's file does not make it shale's") {
  const TempDir dir;
  Manifest manifest = write_set(
      toy_rows_format, plain_samples(schema_of(toy_rows_format.can.kinds), 3, 10), dir / "out");
  write_file(dir / "out/notes.txt", "mine");
  manifest.files.push_back({"notes.txt", 4, {}});
  std::vector<ManifestShard> shards;
  (void)read_manifest(dir / "out", [&](const ManifestShard& shard) { shards.push_back(shard); });
  fs::remove(dir / "out/dataset.json");
  write_manifest(dir / "out", manifest, [&](const ShardVisitor& visit) { visit(shards[0]); });
  complete_in_work_folder(dir / "out", 4);
  finish(dir / "out");
  CHECK(read_text(dir / "out/notes.txt") == "mine");
}

TEST_CASE("set swap: an old manifest that is not whole, or not of shale, is refused, untouched") {
  const TempDir dir;
  prepare(dir / "out");
  const std::string manifest = read_text(dir / "out/dataset.json");
  std::string flipped = manifest;
  flipped[manifest.size() / 2] ^= 1;
  for (const std::string& text :
       {flipped, manifest.substr(0, 200), std::string(R"({"labels": []})")}) {
    fs::remove(dir / "out/dataset.json");
    write_file(dir / "out/dataset.json", text);
    const Content before = content_of(dir / "out");
    WorkFolder work(dir / "out");
    const Error error =
        error_of([&] { (void)finish_swap(SetPlace::of_dataset(dir / "out"), work); });
    CHECK(error.code() == Code::exists);
    CHECK(content_of(dir / "out") == before);
  }
}

// x.toy with its index, complete in the work folder beside it. Returns the file's bytes.
std::string complete_beside_file(const std::string& file, std::size_t samples) {
  WorkFolder work(WorkFolder::BesideFile{file});
  work.clear();
  work.begin("");
  const Schema schema{
      .fields = {{.name = "x", .kind = Kind::tensor, .dtype = DType::parse("|u1"), .shape = {3}}},
      .has_keys = false};
  const SampleSet set = plain_samples(schema, samples, 3);
  const OptionSet options(toy_rows_format.options);
  ShardSetWriter writer(toy_rows_format, set.schema, options, work, {.file_name = "x.toy"});
  for (const Sample& sample : set.samples) {
    Record record = toy_rows_format.encode(sample, set.schema, options);
    record.digest.add(digest_of(sample, set.schema));
    writer.append(record);
  }
  const ShardSetWriter::Summary written = writer.finish();
  Manifest manifest;
  manifest.format = toy_rows_format.name;
  manifest.schema = set.schema;
  manifest.layout = writer.layout();
  manifest.digest = written.digest;
  manifest.payload_bytes = written.payload_bytes;
  manifest.shard_count = 1;
  manifest.source.samples = samples;
  write_manifest_file(join_path(work.path(), "x.toy.dataset.json"), manifest,
                      [&](const auto& visit) { work.for_each_shard(visit); });
  return read_text(join_path(work.path(), "x.toy"));
}

void put_beside(const std::string& file) {
  const SetPlace place = SetPlace::of_file(file + ".dataset.json", "x.toy");
  WorkFolder work(WorkFolder::BesideFile{file});
  if (finish_swap(place, work)) return;
  put_file_in_place(place, work, [&] { fs::rename(join_path(work.path(), "x.toy"), file); });
}

TEST_CASE("set swap: killed at any step, no index stands beside a file that is not its own" *
          doctest::test_suite("slow")) {
  bool was_stopped = true;
  for (int step = 0; was_stopped; ++step) {
    CAPTURE(step);
    REQUIRE(step < 200);
    const TempDir run;
    const std::string file = run / "x.toy", manifest = file + ".dataset.json";
    std::map<std::uint64_t, std::string> bytes;
    bytes[5] = complete_beside_file(file, 5);
    put_beside(file);
    bytes[9] = complete_beside_file(file, 9);
    const std::string end = text_from_child([&]() -> std::string {
      fault = Fault::kill;
      calls_before_fault = step;
      put_beside(file);
      return "done";
    });
    was_stopped = end != "done";
    const auto check = [&] {
      if (!fs::exists(manifest)) return;
      const std::uint64_t samples = read_manifest(DatasetPaths::of_file(file, "")).digest.samples;
      CHECK(read_text(file) == bytes[samples]);
    };
    check();
    {
      WorkFolder work(WorkFolder::BesideFile{file});
      (void)finish_swap(SetPlace::of_file(manifest, "x.toy"), work);
    }
    check();
    CHECK(fs::exists(manifest));
    CHECK(fs::exists(file + ".blocks.npy"));
  }
}

}  // namespace
}  // namespace shale
