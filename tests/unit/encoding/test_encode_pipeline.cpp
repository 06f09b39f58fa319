#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "shale/encoding/encode_pipeline.hpp"

#include "tests/support/sizes.hpp"
#include "tests/support/toy_format.hpp"
#include "tests/unit/encoding/listed_source.hpp"

namespace shale {
namespace {

using namespace test;

// The keys in the order of their commit.
std::vector<std::string> committed(Source& source, const PipelineLimits& limits,
                                   const Events& events = {}) {
  const OptionSet options(toy_format.options);
  const ShardLayout layout = toy_format.layout(source.info().schema, options);
  std::vector<std::string> keys;
  encode_all(source, {toy_format, options, layout, OnError::fail}, limits, events,
             [&](const EncodedSample& sample) { keys.push_back(sample.key); });
  return keys;
}

std::vector<std::string> values(std::size_t count) {
  std::vector<std::string> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = std::string(i * 7919 % 60'000, 'v');
  return all;
}

TEST_CASE("encode pipeline: samples are committed in their order, for any jobs and memory") {
  const TempDir dir;
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) expected.push_back(std::to_string(i));
  for (const PipelineLimits limits : {PipelineLimits{1, kMebi, {}}, PipelineLimits{4, kMebi, {}},
                                      PipelineLimits{3, 64 * kMebi, {}}}) {
    CAPTURE(limits.jobs);
    ListedSource source(dir, numbered(values(300)));
    CHECK(committed(source, limits) == expected);
  }
}

TEST_CASE("encode pipeline: a source without samples commits nothing") {
  const TempDir dir;
  ListedSource source(dir, {});
  CHECK(committed(source, {2, kMebi, {}}).empty());
}

TEST_CASE("encode pipeline: the first error in the order of the input wins") {
  const TempDir dir;
  for (const unsigned jobs : {1U, 4U}) {
    CAPTURE(jobs);
    ListedSource source(dir, numbered(values(300)));
    for (const std::size_t damaged : {150U, 299U})
      source.pending[damaged].cells[0].place.crc32c ^= 1;
    const Error error = error_of([&] { (void)committed(source, {jobs, 8 * kMebi, {}}); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.sample()->key == "150");
  }
}

TEST_CASE("encode pipeline: it stops when it is asked to, and tells how far it is") {
  const TempDir dir;
  ListedSource source(dir, numbered(values(300)));
  std::uint64_t last = 0;
  Events events;
  events.progress = [&](std::uint64_t done, std::uint64_t all, std::uint64_t) {
    CHECK(done > last);
    CHECK(all == 300);
    last = done;
  };
  CHECK(committed(source, {2, kMebi, {}}, events).size() == 300);
  CHECK(last == 300);
  ListedSource again(dir, numbered(values(300)));
  events.progress = nullptr;
  events.should_stop = [] { return true; };
  CHECK(error_of([&] {
          (void)committed(again, {2, kMebi, {}}, events);
        }).code() == Code::interrupted);
}

TEST_CASE("prove input: each digest that the input has must be that of what was read") {
  const Hash128 one = xxh3_128(as_bytes("1")), other = xxh3_128(as_bytes("2"));
  const DatasetDigest read{.samples = 1, .content = one, .ordered = one, .keys = one};
  struct Row {
    DatasetDigest known;
    bool is_proved;
  };
  const Row rows[] = {{read, true},
                      {{}, true},  // a digest that is zero is not known
                      {{.content = other, .ordered = one, .keys = one}, false},
                      {{.content = one, .ordered = other, .keys = one}, false},
                      {{.content = one, .ordered = one, .keys = other}, false},
                      {{.content = one, .ordered = one, .keys = {}}, true}};
  SourceInfo info;
  CHECK_NOTHROW(prove_input(info, read, "in"));
  for (const Row& row : rows) {
    info.digest = row.known;
    if (row.is_proved) {
      CHECK_NOTHROW(prove_input(info, read, "in"));
      continue;
    }
    const Error error = error_of([&] { prove_input(info, read, "in"); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == "in");
  }
}

}  // namespace
}  // namespace shale
