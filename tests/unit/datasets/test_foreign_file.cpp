#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/datasets/index_set.hpp"
#include "shale/datasets/open_dataset.hpp"
#include "shale/manifest/manifest_file.hpp"
#include "shale/shards/dataset_reader.hpp"

#include "tests/support/cut_format.hpp"
#include "tests/support/grid_rows.hpp"

namespace shale {
namespace {

using namespace test;
namespace fs = std::filesystem;

const std::vector<CutSample> kFolders = {{"cats", "a", "meow"}, {"", "b", "?"}, {"dogs", "c", ""}};
const std::vector<CutSample> kNames = {{"", "d", "one"}, {"", "e", "two"}};

// "key=image" of all samples.
std::vector<std::string> samples_of(const OpenedDataset& set) {
  std::vector<std::string> samples;
  for (const ManifestShard& shard : set.shards) {
    const ShardReader reader(set.paths, set.manifest, shard);
    IndexReader index = reader.open_index();
    for (std::uint64_t row = 0; row < index.rows(); ++row) {
      const LoadedSample loaded =
          load_sample(reader, index.row(row), set.manifest.schema, cut_format, {.bytes = 1 << 20});
      samples.push_back(loaded.sample.key + "=" +
                        std::string(as_text(std::get<Bytes>(loaded.sample.values[0]))));
    }
  }
  return samples;
}

struct CutFile {
  explicit CutFile(const std::vector<CutSample>& samples) { write_file(path, cut_bytes(samples)); }
  [[nodiscard]] OpenedDataset open() const { return open_dataset({.path = path}, {}); }
  TempDir dir;
  std::string path = dir / "keys.cut";
};

TEST_CASE("values beside: keys in two pieces are read from FILE.values") {
  for (const bool with_checksums : {false, true}) {
    const CutFile file(kFolders);
    (void)index_file(indexing(file.path, with_checksums), {});
    CHECK(read_text(file.path + ".values") == "cats/abdogs/c");
    const OpenedDataset opened = file.open();
    CHECK(opened.temporary_index == nullptr);
    CHECK(opened.manifest.layout.has_values);
    CHECK(opened.shards[0].values.bytes == 13);
    CHECK(samples_of(opened) == std::vector<std::string>{"cats/a=meow", "b=?", "dogs/c="});
  }
}

TEST_CASE("values beside: a file without an index has its values in a file without a name") {
  const CutFile file(kFolders);
  const OpenedDataset opened = file.open();
  CHECK(opened.temporary_index != nullptr);
  CHECK(samples_of(opened) == std::vector<std::string>{"cats/a=meow", "b=?", "dogs/c="});
  CHECK(files_in(file.dir.path()).size() == 1);
}

TEST_CASE("values beside: a file that needs none has none, and loses the one that it had") {
  const CutFile file(kFolders);
  (void)index_file(indexing(file.path), {});
  write_file(file.path, cut_bytes(kNames));
  (void)index_file(indexing(file.path), {});
  CHECK_FALSE(fs::exists(file.path + ".values"));
  CHECK(samples_of(file.open()) == std::vector<std::string>{"d=one", "e=two"});
}

TEST_CASE("values beside: one that is missing or cut is damage, and indexing makes it again") {
  const CutFile file(kFolders);
  (void)index_file(indexing(file.path), {});
  write_file(file.path + ".values", "cats/ab");
  CHECK(error_of([&] { (void)samples_of(file.open()); }).code() == Code::damaged);
  fs::remove(file.path + ".values");
  const Error error = error_of([&] { (void)samples_of(file.open()); });
  CHECK(error.code() == Code::damaged);
  CHECK(error.hint().find("shale index " + file.path) != std::string::npos);
  (void)index_file(indexing(file.path), {});
  CHECK(samples_of(file.open()).size() == 3);
}

// Three files, of which the second cuts keys.
struct CutSet {
  CutSet() {
    write_file(dir / "0.cut", cut_bytes(kNames));
    write_file(dir / "1.cut", cut_bytes(kFolders));
    write_file(dir / "2.cut", cut_bytes({{"", "f", "last"}}));
  }
  [[nodiscard]] IndexedSet index() const {
    return index_set({.path = dir.path(), .files = files_of_set(dir.path()).value()}, {});
  }
  [[nodiscard]] OpenedDataset open() const { return open_dataset({.path = dir.path()}, {}); }
  TempDir dir;
  std::vector<std::string> samples = {"d=one", "e=two", "cats/a=meow", "b=?", "dogs/c=", "f=last"};
};

TEST_CASE("values beside: in a set all files have them if one does") {
  const CutSet set;
  CHECK(samples_of(set.open()) == set.samples);
  CHECK(set.index().indexed == 3);
  for (const char* number : {"00000", "00001", "00002"})
    CHECK(fs::exists(set.dir / (".shale-index/" + std::string(number) + ".values")));
  const OpenedDataset opened = set.open();
  CHECK(opened.temporary_index == nullptr);
  CHECK(opened.manifest.layout.has_values);
  CHECK(samples_of(opened) == set.samples);
  CHECK(set.index().kept == 3);
}

TEST_CASE("values beside: a set whose file needs them no more is read all the same") {
  const CutSet set;
  (void)set.index();
  write_file(set.dir / "1.cut", cut_bytes({{"", "g", "x"}}));
  CHECK(set.index().indexed == 1);
  CHECK(samples_of(set.open()) == std::vector<std::string>{"d=one", "e=two", "g=x", "f=last"});
}

}  // namespace
}  // namespace shale
