#include <filesystem>
#include <numeric>

#include <sys/stat.h>

#include "shale/base/path_text.hpp"
#include "shale/verify/open_to_verify.hpp"
#include "shale/verify/small_shards.hpp"

#include "tests/contract/contract_tools.hpp"

namespace shale {
namespace {

using namespace test;

constexpr std::size_t kShards = 40;  // more than one task takes

VerifyRequest request_for(const std::string& dataset, unsigned jobs,
                          VerifyDepth depth = VerifyDepth::full) {
  VerifyRequest request;
  request.dataset = dataset;
  request.depth = depth;
  request.jobs = jobs;
  return request;
}

// A set of kShards shards, and what SmallShards says of each.
class ManyShards {
 public:
  ManyShards(const Format& format, const Schema& schema) {
    (void)write_set(format, plain_samples(schema, kShards, 60), directory(), {.limit_samples = 1});
    (void)read_manifest(directory(), [&](const ManifestShard& shard) { shards_.push_back(shard); });
  }

  [[nodiscard]] std::string directory() const { return dir_ / "out"; }
  [[nodiscard]] std::string file_of(std::size_t shard) const {
    return join_path(directory(), shards_[shard].files.back().name);
  }
  /// Of files and lists of all shards.
  [[nodiscard]] std::uint64_t bytes() const {
    return std::accumulate(shards_.begin(), shards_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const ManifestShard& shard) {
                             return sum + bytes_of_files(shard) + shard.list_bytes();
                           });
  }

  struct Proved {
    std::vector<bool> shards;
    VerifyReport report;
  };
  [[nodiscard]] Proved prove(unsigned jobs, VerifyDepth depth = VerifyDepth::full) const {
    const VerifyRequest request = request_for(directory(), jobs, depth);
    const FindingSink sink;
    const Events events;
    VerifyLog log(sink, events);
    const OpenedDataset dataset = open_to_verify(request, log).value();
    REQUIRE(SmallShards::can_prove(request, dataset));
    Proved proved;
    SmallShards(request, dataset, log).prove_all([&](std::uint64_t number, bool is_proved) {
      CHECK(number == proved.shards.size());
      proved.shards.push_back(is_proved);
    });
    proved.report = std::move(log.report());
    return proved;
  }

 private:
  TempDir dir_;
  std::vector<ManifestShard> shards_;
};

void flip_last_byte(const std::string& path) {
  std::string bytes = read_text(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file(path, bytes);
}

TEST_CASE("small shards: whole ones are proved, and all their bytes are read") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const ManyShards set(format, schema);
    for (const unsigned jobs : {1U, 3U}) {
      const ManyShards::Proved proved = set.prove(jobs);
      CHECK(proved.shards == std::vector<bool>(kShards, true));
      CHECK(proved.report.bytes == set.bytes());
      CHECK(proved.report.findings == 0);
    }
  });
}

TEST_CASE("small shards: one that is not whole is left to others, without a finding") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const ManyShards set(format, schema);
    flip_last_byte(set.file_of(3));
    std::filesystem::resize_file(set.file_of(20), 1);
    std::filesystem::remove(set.file_of(38));
    std::vector<bool> expected(kShards, true);
    for (const std::size_t shard : {3U, 20U, 38U}) expected[shard] = false;

    const ManyShards::Proved proved = set.prove(2);

    CHECK(proved.shards == expected);
    CHECK(proved.report.findings == 0);
    expected[3] = true;  // a quick check reads no blocks
    CHECK(set.prove(2, VerifyDepth::quick).shards == expected);
  });
}

TEST_CASE("small shards: a FIFO or a folder in the place of a shard hangs nobody") {
  const ManyShards set(toy_format, full_schema(toy_format));
  std::filesystem::remove(set.file_of(0));
  REQUIRE(::mkfifo(set.file_of(0).c_str(), 0600) == 0);
  std::filesystem::remove(set.file_of(9));
  std::filesystem::create_directory(set.file_of(9));

  const std::vector<bool> proved = set.prove(2).shards;

  CHECK_FALSE(proved[0]);
  CHECK_FALSE(proved[9]);
  CHECK(std::ranges::count(proved, true) == kShards - 2);
}

TEST_CASE("small shards: what is wrong is found in the order of the shards") {
  for_each_layout([](const Format& format, const Schema& schema) {
    const ManyShards set(format, schema);
    for (const std::size_t shard : {35U, 2U, 17U}) flip_last_byte(set.file_of(shard));

    const VerifyReport one = verify(request_for(set.directory(), 1), {}, {});
    const VerifyReport four = verify(request_for(set.directory(), 4), {}, {});

    REQUIRE(one.findings >= 3);
    CHECK(std::ranges::is_sorted(one.first_findings, {}, &Finding::shard));
    CHECK(one.shards == kShards);
    CHECK(one.samples == kShards);
    REQUIRE(four.findings == one.findings);
    for (std::size_t i = 0; i < one.first_findings.size(); ++i)
      CHECK(describe(four.first_findings[i]) == describe(one.first_findings[i]));
  });
}

TEST_CASE("small shards: a large one is left to others") {
  for_each_format([](const Format& format) {
    const Schema schema = full_schema(format);
    if (!std::ranges::count(format.can.kinds, Kind::bytes)) return;
    SampleSet set = plain_samples(schema, 3, 60);
    const std::string large(9 << 20, 'x');
    for (std::size_t i = 0; i < schema.fields.size(); ++i) {
      if (schema.fields[i].kind == Kind::bytes) set.samples[1].values[i] = as_bytes(large);
    }
    const TempDir dir;
    (void)write_set(format, set, dir / "out", {.limit_samples = 1});
    const VerifyRequest request = request_for(dir / "out", 2);
    const FindingSink sink;
    const Events events;
    VerifyLog log(sink, events);
    const OpenedDataset dataset = open_to_verify(request, log).value();
    std::vector<bool> proved;
    SmallShards(request, dataset, log).prove_all([&](std::uint64_t, bool is_proved) {
      proved.push_back(is_proved);
    });

    CHECK(proved == std::vector<bool>{true, false, true});
  });
}

TEST_CASE("small shards: they stop when they are asked to") {
  const ManyShards set(toy_format, full_schema(toy_format));
  Events events;
  std::size_t asked = 0;
  events.should_stop = [&] { return ++asked > 5; };

  const Error error = error_of([&] { (void)verify(request_for(set.directory(), 2), {}, events); });

  CHECK(error.code() == Code::interrupted);
}

TEST_CASE("small shards: a deep check, or a single shard, is not for them") {
  const ManyShards set(toy_format, full_schema(toy_format));
  const TempDir dir;
  (void)write_set(toy_format, small_set(toy_format), dir / "out");
  const FindingSink sink;
  const Events events;
  VerifyLog log(sink, events);
  const VerifyRequest deep = request_for(set.directory(), 1, VerifyDepth::deep);
  const VerifyRequest single = request_for(dir / "out", 1);

  CHECK_FALSE(SmallShards::can_prove(deep, open_to_verify(deep, log).value()));
  CHECK_FALSE(SmallShards::can_prove(single, open_to_verify(single, log).value()));
}

}  // namespace
}  // namespace shale
