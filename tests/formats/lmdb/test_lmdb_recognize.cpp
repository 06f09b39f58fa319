#include <doctest/doctest.h>

#include "formats/lmdb/lmdb_format.hpp"
#include "tests/support/sample_sets.hpp"
#include "tests/support/temp_dir.hpp"

namespace shale {
namespace {

using test::TempDir;

// Where a byte of the first value's map lies in a file whose first value has pages of its own.
constexpr std::size_t kFirstMap = 2 * 4096 + 16, kFirstTransaction = 144;

std::string bytes_of_own_file(const test::SampleSet& set) {
  const TempDir dir;
  std::vector<OutputFile> files;
  files.emplace_back(dir / "x", OutputFile::Options{.io = IoMode::buffered});
  const auto writer = lmdb_format.create_shard(files, set.schema, OptionSet(lmdb_format.options));
  for (const Sample& sample : set.samples)
    (void)writer->append(lmdb_format.encode(sample, set.schema, OptionSet(lmdb_format.options)));
  (void)writer->close();
  (void)files[0].finish();
  return test::read_text(dir / "x");
}

std::optional<Schema> recognized(const std::string& file) {
  const TempDir dir;
  test::write_file(dir / "x", file);
  return lmdb_format.recognize(InputFile(dir / "x"), {});
}

test::SampleSet own_samples(std::size_t bytes) {
  return test::plain_samples(test::schema_of(lmdb_format.can.kinds), 9, bytes);
}

TEST_CASE("lmdb recognize: a file of shale has the schema of its samples, whatever their sizes") {
  for (const std::size_t bytes : {40U, 5000U}) {
    const test::SampleSet set = own_samples(bytes);
    const std::optional<Schema> schema = recognized(bytes_of_own_file(set));
    REQUIRE(schema);
    CHECK(schema->fields == set.schema.fields);
  }
}

TEST_CASE("lmdb recognize: what liblmdb has written to since is a file like any other") {
  std::string file = bytes_of_own_file(own_samples(40));
  file[kFirstTransaction] = 2;
  CHECK_FALSE(recognized(file));
}

TEST_CASE("lmdb recognize: one damaged meta page hides nothing") {
  std::string file = bytes_of_own_file(own_samples(40));
  file[kFirstTransaction - 20] ^= 1;
  CHECK(recognized(file));
}

TEST_CASE("lmdb recognize: a first value that is damaged is not taken for plain entries") {
  std::string file = bytes_of_own_file(own_samples(5000));
  file[kFirstMap] = '\xc1';
  CHECK(test::error_of([&] { (void)recognized(file); }).code() == Code::damaged);
}

}  // namespace
}  // namespace shale
