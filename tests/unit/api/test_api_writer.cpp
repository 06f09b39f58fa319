#include <filesystem>

#include <doctest/doctest.h>

#include "tests/support/temp_dir.hpp"
#include "tests/unit/api/written_samples.hpp"

namespace shale {
namespace {

using namespace test;

TEST_CASE("writer: samples with a value of each kind become a dataset") {
  const TempDir dir;
  const WrittenSet set = write_samples(dir / "set", 25);
  CHECK(set.format == "record");
  CHECK(set.samples == 25);
  CHECK(set.shards == 3);
  CHECK(set.payload_bytes > 0);
  CHECK(set.file_bytes > set.payload_bytes);
  CHECK(set.content_digest.size() == 32);
  CHECK(set.content_digest == write_samples(dir / "again", 25).content_digest);
  CHECK(std::filesystem::exists(dir / "set/dataset.json"));
}

TEST_CASE("writer: a sample that does not fit its fields is refused, and the next one is written") {
  const TempDir dir;
  Writer writer({.to = {.path = dir / "set", .format = "lmdb"},
                 .fields = {{.name = "label", .kind = Kind::integer}}});
  writer.write("a", {1});
  CHECK(error_of([&] { writer.write("b", {"one"}); }).code() == Code::schema);
  CHECK(error_of([&] { writer.write("b", {1, 2}); }).code() == Code::schema);
  writer.write("b", {2});
  CHECK(writer.samples() == 2);
  CHECK(writer.finish().samples == 2);
}

TEST_CASE("writer: without finish() there is no dataset") {
  const TempDir dir;
  {
    Writer writer(
        {.to = {.path = dir / "set", .format = "record"}, .fields = fields_of_all_kinds()});
    write_sample(writer, 0);
  }
  CHECK(files_in(dir.path()).empty());
}

TEST_CASE("writer: it goes on with what is resumed, and comes behind what is appended to") {
  const TempDir dir;
  const std::vector<FieldInfo> label = {{.name = "label", .kind = Kind::integer}};
  const auto write = [&](const std::string& name, std::int64_t end, bool resume, bool append) {
    Destination to = {.path = dir / name};
    if (!append) to.format = "record";
    if (!append) to.shard_samples = 10;
    Writer writer({.to = to, .fields = label, .append = append, .resume = resume});
    const auto first = static_cast<std::int64_t>(writer.resumed_from());
    for (std::int64_t i = first; i < end; ++i) writer.write("", {i});
    return std::pair(first, writer.finish());
  };
  CHECK(write("set", 25, true, false).first == 0);
  const auto [resumed, complete] = write("set", 25, true, false);
  CHECK(resumed == 25);
  CHECK(complete.samples == 25);
  CHECK(error_of([&] { (void)write("set", 26, true, false); }).code() == Code::exists);
  CHECK(write("set", 5, false, true).second.samples == 30);
  CHECK(error_of([&] { (void)write("none", 5, false, true); }).code() == Code::not_found);
}

TEST_CASE("writer: what cannot be written is refused before the first sample") {
  const TempDir dir;
  const auto code_of = [&](const WriterOptions& options) {
    return error_of([&] { const Writer writer(options); }).code();
  };
  const std::vector<FieldInfo> label = {{.name = "label", .kind = Kind::integer}};
  CHECK(code_of({.to = {.path = dir / "set"}, .fields = label}) == Code::usage);
  CHECK(code_of({.to = {.path = dir / "set", .format = "zip"}, .fields = label}) == Code::usage);
  CHECK(code_of({.to = {.path = dir / "set", .format = "npy"}, .fields = fields_of_all_kinds()}) ==
        Code::unsupported);
  CHECK(code_of({.to = {.path = dir / "set", .format = "npy"},
                 .fields = label,
                 .resources = {.memory_bytes = 1 << 20}}) == Code::usage);
  (void)write_samples(dir / "taken", 1);
  CHECK(code_of({.to = {.path = dir / "taken", .format = "record"}, .fields = label}) ==
        Code::exists);
}

}  // namespace
}  // namespace shale
