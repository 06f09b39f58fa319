#include <filesystem>
#include <string>

#include "shale/ops/sample_writer.hpp"

#include "tests/contract/contract_tools.hpp"

namespace shale {
namespace {

using namespace test;

ConvertRequest request_to(const std::string& output, const Format& format) {
  ConvertRequest request;
  request.output = output;
  request.format = format.name;
  request.jobs = 2;
  request.memory_bytes = 16 << 20;
  return request;
}

void write_all(SampleWriter& writer, const SampleSet& set) {
  writer.begin(set.schema, {});
  for (const Sample& sample : set.samples) {
    if (!writer.try_add(sample)) writer.add(sample, {});
  }
}

TEST_CASE("sample writer: the shards are those of a conversion of the same samples") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    const SampleSet set = plain_samples(schema, 200, 3000);
    (void)write_set(format, set, dir / "from");
    ConvertRequest of_set = conversion(dir / "from", dir / "converted", format);
    ConvertRequest of_program = request_to(dir / "written", format);
    of_set.shard_samples = of_program.shard_samples = 70;
    of_program.verify = true;
    const ConvertReport converted = convert(of_set, {});
    SampleWriter writer(of_program);
    write_all(writer, set);
    const ConvertReport written = writer.finish({});
    CHECK(written.manifest.digest == converted.manifest.digest);
    CHECK(written.manifest.shard_count == 3);
    CHECK(files_in(dir / "written") == files_in(dir / "converted"));
    for (const std::string& name : files_in(dir / "written")) {
      CAPTURE(name);
      if (name != kManifestName)
        CHECK(read_text(dir / ("written/" + name)) == read_text(dir / ("converted/" + name)));
    }
  });
}

TEST_CASE("sample writer: what is dropped leaves nothing") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const TempDir dir;
    const SampleSet set = plain_samples(schema, 50, 3000);
    {
      ConvertRequest request = request_to(dir / "out", format);
      request.shard_samples = 5;
      SampleWriter writer(request);
      write_all(writer, set);
    }
    CHECK(std::filesystem::is_empty(dir.path()));
    { const SampleWriter unused(request_to(dir / "out", format)); }
    CHECK(std::filesystem::is_empty(dir.path()));
  });
}

TEST_CASE("sample writer: a folder that is not a dataset is refused, and a dataset not replaced") {
  const TempDir dir;
  const Format& format = format_named("toy");
  write_file(dir / "mine/notes.txt", "mine");
  CHECK(error_of([&] { const SampleWriter writer(request_to(dir / "mine", format)); }).code() ==
        Code::exists);
  CHECK(files_in(dir / "mine") == std::vector<std::string>{"notes.txt"});
  const SampleSet set = plain_samples(schema_of(format.can.kinds), 3, 10);
  (void)write_set(format, set, dir / "set");
  const std::string manifest = read_text(dir / "set/dataset.json");
  CHECK(error_of([&] { const SampleWriter writer(request_to(dir / "set", format)); }).code() ==
        Code::exists);
  CHECK(read_text(dir / "set/dataset.json") == manifest);
}

TEST_CASE("sample writer: an error of its threads comes out, and leaves nothing") {
  const TempDir dir;
  const Format& format = format_named("toy");
  SampleSet set = plain_samples(schema_of(format.can.kinds), 20, 10);
  set.samples[7].key = set.samples[3].key;
  SampleWriter writer(request_to(dir / "out", format));
  write_all(writer, set);
  const Error error = error_of([&] { (void)writer.finish({}); });
  CHECK(error.code() == Code::schema);
  CHECK(error.sample()->key == set.samples[3].key);
  CHECK(std::filesystem::is_empty(dir.path()));
}

TEST_CASE("sample writer: a sample that no shard can hold is refused alone") {
  const TempDir dir;
  const Format& format = format_named("toy");
  const SampleSet small = plain_samples(schema_of(format.can.kinds), 4, 10);
  SampleSet large = plain_samples(small.schema, 1, 10);
  large.samples[0].values[0] = large.keep(std::string(300'000, 'l'));
  ConvertRequest request = request_to(dir / "out", format);
  request.shard_bytes = 200'000;
  SampleWriter writer(request);
  write_all(writer, small);
  CHECK(error_of([&] { (void)writer.try_add(large.samples[0]); }).code() == Code::limit);
  CHECK(writer.finish({}).manifest.digest.samples == 4);
}

}  // namespace
}  // namespace shale
