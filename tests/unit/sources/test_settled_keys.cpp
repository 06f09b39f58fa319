#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/sources/settled_keys.hpp"

#include "tests/support/toy_format.hpp"
#include "tests/support/written_set.hpp"

namespace shale {
namespace {

using namespace test;

// A dataset of samples with these keys, which nobody has checked.
OpenedDataset dataset_of(const TempDir& dir, const std::vector<std::string>& keys) {
  SampleSet set;
  set.schema.fields = {{.name = "label", .kind = Kind::integer}};
  for (const std::string& key : keys) set.samples.push_back({key, {std::int64_t{0}}});
  (void)write_set(toy_format, set, dir / "set", {.keys_are_unique = true});
  OpenedDataset dataset;
  dataset.paths = DatasetPaths(dir / "set");
  dataset.shards = open_shard_list(dataset.paths);
  dataset.manifest = dataset.shards.manifest();
  return dataset;
}

TEST_CASE("unique keys: keys that all differ pass, none and the empty one among them") {
  std::vector<std::string> many;
  for (int i = 0; i < 10'000; ++i) many.push_back(std::to_string(i));
  for (const std::vector<std::string>& keys : {{}, {""}, {"a", "A", "", "a "}, many}) {
    const TempDir dir;
    CAPTURE(keys.size());
    OpenedDataset dataset = dataset_of(dir, keys);
    CHECK_NOTHROW(settle_keys(dataset, dir.path(), [] {}));
  }
}

TEST_CASE("unique keys: two samples of one key are refused by that key, wherever they are") {
  std::vector<std::string> many;
  for (int i = 0; i < 10'000; ++i) many.push_back(std::to_string(i));
  many.push_back("0");
  for (const std::vector<std::string>& keys :
       {std::vector<std::string>{"0", "0"}, {"a", "0", "b", "0"}, many}) {
    const TempDir dir;
    OpenedDataset dataset = dataset_of(dir, keys);
    CAPTURE(keys.size());
    const Error error = error_of([&] { settle_keys(dataset, dir.path(), [] {}); });
    CHECK(error.code() == Code::schema);
    CHECK(error.sample()->key == "0");
  }
}

TEST_CASE("unique keys: the search stops when it is asked to") {
  const TempDir dir;
  OpenedDataset dataset = dataset_of(dir, {"a", "b"});
  const auto stop = [] { throw Error(Code::interrupted, "stopped"); };
  CHECK(error_of([&] { settle_keys(dataset, dir.path(), stop); }).code() == Code::interrupted);
}

}  // namespace
}  // namespace shale
