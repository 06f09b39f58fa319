#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/ops/parts.hpp"

#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("parts: missing numbers are what sbatch --array takes") {
  using Numbers = std::vector<std::uint64_t>;
  CHECK(array_expression(Numbers{}).empty());
  CHECK(array_expression(Numbers{3}) == "3");
  CHECK(array_expression(Numbers{3, 7, 8, 9}) == "3,7-9");
  CHECK(array_expression(Numbers{0, 1, 3, 5, 6}) == "0-1,3,5-6");
}

TEST_CASE("parts: a folder without parts is not found, and empty ones of that name are not there") {
  const TempDir dir;
  CHECK(error_of([&] { (void)find_parts({dir.path()}, {}); }).code() == Code::not_found);
  std::filesystem::create_directories(dir / "part-00001-of-00003");
  CHECK(error_of([&] { (void)find_parts({dir.path()}, {}); }).code() == Code::not_found);
}

TEST_CASE("parts: files under the name of a part without a manifest are damage") {
  const TempDir dir;
  std::filesystem::create_directories(dir / "part-00001-of-00003");
  write_file(dir / "part-00001-of-00003/shard-000000.grid", "x");
  const PartsReport report = find_parts({dir.path()}, {});
  CHECK(report.holds_damage());
  CHECK(report.count == 3);
  CHECK(report.absent == std::vector<std::uint64_t>{0, 2});
  CHECK(report.missing == std::vector<std::uint64_t>{0, 1, 2});
}

TEST_CASE("parts: what two runs differ in is said in words") {
  const auto option = [](const char* name, const char* value) {
    return [=](Manifest& manifest) { manifest.options.emplace_back(name, value); };
  };
  struct Row {
    std::function<void(Manifest&)> one, other;
    std::string words;
  };
  const Row kRows[] = {
      {[](Manifest& m) { m.generator = "shale 1"; }, [](Manifest& m) { m.generator = "shale 2"; },
       "it was written by shale 2, not shale 1"},
      {[](Manifest& m) {
         m.part = {0, 2};
       },
       [](Manifest& m) {
         m.part = {0, 1};
       },
       "it is one of 1 part, not 2"},
      {[](Manifest& m) { m.format = "record"; }, [](Manifest& m) { m.format = "lmdb"; },
       "its format is lmdb, not record"},
      {[](Manifest& m) { m.source.samples = 162; }, [](Manifest& m) { m.source.samples = 161; },
       "its input has 161 samples, not 162"},
      {[](Manifest& m) { m.source.bytes = 2; }, [](Manifest& m) { m.source.bytes = 1; },
       "its input has 1 byte, not 2"},
      {[](Manifest&) {},
       [](Manifest& m) {
         m.source.fingerprint = Hash128{1, 2};
       },
       "its input is another, or has changed: as many samples and bytes, but not the same files "
       "or content"},
      {[](Manifest&) {}, [](Manifest& m) { m.classes = {"cats"}; }, "its input has other classes"},
      {option("shard_samples", "unlimited"), option("shard_samples", "5"),
       "its shards have at most 5 samples, not unlimited"},
      {option("on_error", "skip"), option("on_error", "keep"), "its --on-error is keep, not skip"},
      {option("shuffle", "no"), option("shuffle", "yes"), "its shuffle is yes, not no"},
      {option("chosen samples", "0123"), [](Manifest&) {},
       "it takes other samples of the input, by --select, --exclude, --classes, --limit or "
       "--split"},
      {[](Manifest&) {}, option("ext", ".wav"), "it takes files with other suffixes (--ext)"},
      {[](Manifest&) {},
       [](Manifest& m) {
         m.schema.fields = {{"x", Kind::bytes}};
       },
       "it has other fields"},
  };
  for (const Row& row : kRows) {
    Manifest one, other;
    row.one(one);
    row.other(other);
    CHECK(difference_of_runs(one, other) == row.words);
    CHECK(difference_of_runs(one, one) == std::nullopt);
  }
}

}  // namespace
}  // namespace shale
