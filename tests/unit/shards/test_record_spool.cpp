#include <doctest/doctest.h>

#include "shale/shards/record_spool.hpp"

#include "tests/support/toy_format.hpp"
#include "tests/support/written_set.hpp"

namespace shale {
namespace {

using namespace test;

Schema toy_schema() { return schema_of(toy_format.can.kinds); }

RecordSpool spool_in(const TempDir& dir) {
  const Schema schema = toy_schema();
  return RecordSpool(dir.path(),
                     IndexColumns(schema, toy_format.layout(schema, defaults(toy_format))));
}

TEST_CASE("record spool: records come back in order, to the byte") {
  const TempDir dir;
  const SampleSet set = odd_samples(toy_schema());
  const OptionSet options = defaults(toy_format);
  RecordSpool spool = spool_in(dir);
  for (const Sample& sample : set.samples)
    spool.add(encoded(toy_format, sample, set.schema, options));
  CHECK(spool.count() == set.samples.size());

  std::size_t next = 0;
  spool.drain([&](const Record& record) {
    const Record expected = encoded(toy_format, set.samples.at(next++), set.schema, options);
    CHECK(record.key == expected.key);
    CHECK(record.row == expected.row);
    CHECK(record.payload_bytes == expected.payload_bytes);
    REQUIRE(record.parts.size() == expected.parts.size());
    for (std::size_t i = 0; i < record.parts.size(); ++i) {
      CHECK(record.parts[i].flattened() == expected.parts[i].flattened());
    }
  });
  CHECK(next == set.samples.size());
}

TEST_CASE("record spool: is empty again after it was drained") {
  const TempDir dir;
  const SampleSet set = plain_samples(toy_schema(), 4, 100);
  RecordSpool spool = spool_in(dir);
  for (int round = 0; round < 3; ++round) {
    std::vector<std::string> keys;
    for (int i = 0; i <= round; ++i) {
      const Sample& sample = set.samples[static_cast<std::size_t>(i)];
      spool.add(encoded(toy_format, sample, set.schema, defaults(toy_format)));
    }
    spool.drain([&](const Record& record) { keys.push_back(record.key); });
    CHECK(keys.size() == static_cast<std::size_t>(round) + 1);
    CHECK(keys[0] == set.samples[0].key);
    CHECK(spool.count() == 0);
  }
}

TEST_CASE("record spool: leaves no file behind in its folder") {
  const TempDir dir;
  const SampleSet set = plain_samples(toy_schema(), 1, 100);
  RecordSpool spool = spool_in(dir);
  spool.add(encoded(toy_format, set.samples[0], set.schema, defaults(toy_format)));
  CHECK(files_in(dir.path()).empty());
}

}  // namespace
}  // namespace shale
