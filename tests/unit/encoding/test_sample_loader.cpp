#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "shale/io/file_stamp.hpp"

#include "tests/unit/encoding/listed_source.hpp"

namespace shale {
namespace {

using namespace test;

std::vector<Sample> load_all(Source& source, Batch& batch) {
  BatchReader reader(BatchReader::Options{});
  return load_batch(batch, source.info(), reader);
}

TEST_CASE("sample loader: samples get the bytes of their places and the numbers of their cells") {
  const TempDir dir;
  const std::vector<std::string> values = {"one", "", std::string(100'000, 'x'), "four"};
  ListedSource source(dir, numbered(values));
  Batch batch = batch_of(source);

  const std::vector<Sample> samples = load_all(source, batch);

  REQUIRE(samples.size() == values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(samples[i].key == std::to_string(i));
    CHECK(as_text(std::get<Bytes>(samples[i].values[0])) == values[i]);
    CHECK(std::get<std::int64_t>(samples[i].values[1]) == static_cast<std::int64_t>(i));
  }
}

TEST_CASE("sample loader: a batch without samples gives none") {
  const TempDir dir;
  ListedSource source(dir, {});
  Batch batch = batch_of(source);
  CHECK(load_all(source, batch).empty());
}

TEST_CASE("sample loader: a file that shrank, grew or went since it was listed is an io error") {
  const TempDir dir;
  ListedSource source(dir, numbered({"first", "12345"}));
  source.pending[1].files = {{.path = dir / "1.jpg", .bytes = 5}};
  source.pending[1].cells[0].place.offset = 0;
  Batch batch = batch_of(source, 40);
  write_file(dir / "1.jpg", "12345");
  CHECK(as_text(std::get<Bytes>(load_all(source, batch)[1].values[0])) == "12345");
  for (const char* content : {"1234", "", "123456", "gone"}) {
    CAPTURE(content);
    write_file(dir / "1.jpg", content);
    if (content == std::string_view("gone")) std::filesystem::remove(dir / "1.jpg");
    const Error error = error_of([&] { (void)load_all(source, batch); });
    CHECK(error.code() == Code::io);
    CHECK(error.file() == dir / "1.jpg");
    CHECK(error.sample()->index == 41);
  }
}

TEST_CASE("sample loader: a file that was listed by a run before must have its size and its time") {
  const TempDir dir;
  ListedSource source(dir, numbered({"12345"}));
  PendingSample& listed = source.pending[0];
  const std::string path = dir / "0.jpg";
  listed.cells[0].place.offset = 0;
  write_file(path, "12345");
  listed.files = {{.path = path, .bytes = 5, .modified_ns = stamp_of(path)->modified_ns}};
  Batch batch = batch_of(source);
  CHECK(load_all(source, batch).size() == 1);
  const auto refusal = [&] { return error_of([&] { (void)load_all(source, batch); }); };
  std::filesystem::last_write_time(
      dir / "0.jpg", std::filesystem::file_time_type::clock::now() + std::chrono::hours(1));
  CHECK(refusal().code() == Code::mismatch);
  CHECK(refusal().file() == dir / "0.jpg");
  write_file(dir / "0.jpg", "1234");
  CHECK(refusal().code() == Code::mismatch);
  std::filesystem::remove(dir / "0.jpg");
  CHECK(refusal().code() == Code::io);
}

TEST_CASE(
    "sample loader: files of several fields, elements of lists and known values, in one read") {
  const TempDir dir;
  ListedSource source(dir, numbered({"stored"}));
  source.info().schema.fields = {{.name = "image", .kind = Kind::bytes},
                                 {.name = "label", .kind = Kind::integer},
                                 {.name = "frames", .kind = Kind::list},
                                 {.name = "caption", .kind = Kind::text},
                                 {.name = "mask", .kind = Kind::bytes}};
  for (const char* name : {"first", "second", "mask"}) write_file(dir / name, name);
  PendingSample& sample = source.pending[0];
  sample.cells.resize(5);
  sample.descriptors.resize(5, -1);
  sample.files = {{.path = dir / "first", .bytes = 5, .field = 2},
                  {.path = dir / "second", .bytes = 6, .field = 2},
                  {.path = dir / "mask", .bytes = 4, .field = 4}};
  sample.known = {{.field = 3, .bytes = "a caption"}};
  sample.bytes += 15;
  Batch batch = batch_of(source);

  const std::vector<Value> values = load_all(source, batch).front().values;

  CHECK(as_text(std::get<Bytes>(values[0])) == "stored");
  CHECK(as_text(std::get<Bytes>(values[3])) == "a caption");
  CHECK(as_text(std::get<Bytes>(values[4])) == "mask");
  const auto& frames = std::get<std::vector<Bytes>>(values[2]);
  REQUIRE(frames.size() == 2);
  CHECK(as_text(frames[0]) == "first");
  CHECK(as_text(frames[1]) == "second");
}

TEST_CASE("sample loader: bytes that have not their checksum are damage, by sample and offset") {
  const TempDir dir;
  ListedSource source(dir, numbered({"first", "second", "third"}));
  Batch batch = batch_of(source, 7);
  write_file(dir / "values", "firstsEcondthird");

  const Error error = error_of([&] { (void)load_all(source, batch); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.sample()->key == "1");
  CHECK(error.sample()->index == 8);
  batch.pending[1].has_crc32c = false;
  CHECK(as_text(std::get<Bytes>(load_all(source, batch)[1].values[0])) == "sEcond");
}

TEST_CASE("sample loader: columns of a run are read and turned, or taken where they are") {
  const TempDir dir;
  RunSource source(dir, 200);
  Batch batch = batch_of(source);
  BatchReader reader(BatchReader::Options{});

  const auto runs = load_runs(batch, source.info(), reader);

  REQUIRE(runs.size() == 1);
  CHECK(as_text(runs[0][0]) == source.x);
  CHECK(as_text(runs[0][1]) == source.y);
  CHECK(runs[0][1].data() == source.run.columns[1]->data());
}

TEST_CASE("sample loader: a run whose file ends before it is an io error at its first row") {
  const TempDir dir;
  RunSource source(dir, 200);
  Batch batch = batch_of(source);
  BatchReader reader(BatchReader::Options{});
  std::filesystem::resize_file(dir / "x", 4 + 4 * 200 - 1);
  const Error error = error_of([&] { (void)load_runs(batch, source.info(), reader); });
  CHECK(error.code() == Code::io);
  CHECK(error.sample()->index == 100);
}

TEST_CASE("read buffer: is kept while it is long enough") {
  ReadBuffer buffer;
  buffer.require(100);
  const std::byte* const memory = buffer.bytes().data();
  buffer.require(100);
  buffer.require(1);
  CHECK(buffer.bytes().data() == memory);
  CHECK(buffer.capacity() == 100);
  buffer.require(101);
  CHECK(buffer.bytes().size() == 101);
}

}  // namespace
}  // namespace shale
