#include <filesystem>
#include <fstream>

#include "shale/base/path_text.hpp"
#include "shale/data/fixed_value.hpp"

#include "tests/contract/contract_tools.hpp"
#include "tests/support/sampled_walk.hpp"

// What formats promise whose shards are columns of values of one size: no index, no keys, records
// of many samples at once.

namespace shale {
namespace {

using namespace test;

// The bytes of a shard's files beyond their rows: found by what one row and two take.
std::uint64_t largest_file_of_rows(const Format& format, const Schema& schema, std::uint64_t rows) {
  const TempDir dir;
  (void)write_set(format, plain_samples(schema, rows, 0), dir / "out");
  std::uint64_t largest = 0;
  for (const auto& [name, content] : content_of(dir / "out")) {
    if (name.starts_with("shard-")) largest = std::max<std::uint64_t>(largest, content.size());
  }
  return largest;
}

TEST_CASE("fixed rows: records of one row, of some and of all give the same bytes") {
  for_each_fixed_format([](const Format& format, const Schema& schema) {
    const SampleSet set = plain_samples(schema, 60, 0);
    for (const std::uint64_t limit : {60U, 20U}) {
      const TempDir dir;
      (void)write_set(format, set, dir / "single", {.limit_samples = limit});
      for (const std::size_t run : {1U, 2U, 5U, 10U, 20U}) {
        CAPTURE(run);
        SetInProgress progress(format, schema, dir / "runs", {.limit_samples = limit});
        for (std::size_t first = 0; first < set.samples.size(); first += run)
          progress.append_run(std::span(set.samples).subspan(first, run));
        (void)progress.finish();
        CHECK(differing_files(dir / "single", dir / "runs") == std::vector<std::string>());
        std::filesystem::remove_all(dir / "runs");
      }
    }
  });
}

TEST_CASE("fixed rows: a set of runs is read row by row, and by rows a shard, as it was written") {
  for_each_fixed_format([](const Format& format, const Schema& schema) {
    const SampleSet set = odd_samples(schema);
    const TempDir dir;
    SetInProgress progress(format, schema, dir / "out", {.limit_samples = 5});
    const std::uint64_t a_shard = progress.writer().rows_a_shard().value();
    CHECK(a_shard == 5);
    for (std::size_t first = 0; first < set.samples.size(); first += a_shard) {
      const std::size_t rows = std::min<std::size_t>(a_shard, set.samples.size() - first);
      progress.append_run(std::span(set.samples).subspan(first, rows));
    }
    (void)progress.finish();

    const ReadSet read = read_set(dir / "out");

    REQUIRE(read.samples.size() == set.samples.size());
    for (std::size_t i = 0; i < set.samples.size(); ++i) {
      for (std::size_t f = 0; f < schema.fields.size(); ++f)
        CHECK(are_equal(read.samples[i].sample.values[f], set.samples[i].values[f]));
    }
  });
}

TEST_CASE("fixed rows: a shard holds as many rows as fit, not one more, at any limit" *
          doctest::test_suite("slow")) {
  for_each_fixed_format([](const Format& format, const Schema& schema) {
    const std::uint64_t least = largest_file_of_rows(format, schema, 1);
    const Schema wide{.fields = {{"x", Kind::tensor, DType::parse("<f8"), {40}}},
                      .has_keys = false};
    for (const Schema& one : {schema, wide}) {
      for (std::uint64_t limit = least + 320; limit < least + 3000; limit += 61) {
        CAPTURE(limit);
        const TempDir dir;
        SetInProgress progress(format, one, dir / "out", {.limit_bytes = limit});
        const std::uint64_t rows = progress.writer().rows_a_shard().value();
        REQUIRE(rows > 0);
        CHECK(largest_file_of_rows(format, one, rows) <= limit);
        CHECK(largest_file_of_rows(format, one, rows + 1) > limit);
      }
    }
  });
}

TEST_CASE("fixed rows: a row that fits no shard is refused before anything is written") {
  for_each_fixed_format([](const Format& format, const Schema& schema) {
    const std::uint64_t needed = largest_file_of_rows(format, schema, 1);
    const SampleSet set = plain_samples(schema, 1, 0);
    const TempDir dir;
    SetInProgress progress(format, schema, dir / "out", {.limit_bytes = needed - 1});
    CHECK(progress.writer().rows_a_shard() == 0);

    const Error error = error_of([&] { progress.append(set.samples[0]); });

    CHECK(error.code() == Code::limit);
    CHECK(error.hint() == fmt::format("pass --shard-size {} or more", needed));
    CHECK(fault_of_unfinished(dir / "out").empty());
  });
}

TEST_CASE("fixed rows: values that lie across hash blocks and verified ranges come back") {
  for_each_fixed_format([](const Format& format, const Schema&) {
    const Schema schema{.fields = {{"big", Kind::tensor, DType::parse("|u1"), {(9 << 20) + 3}}},
                        .has_keys = false};
    SampleSet set{.schema = schema, .samples = {}, .memory = {}};
    for (const char letter : {'K', 'L', 'M'}) {
      const Bytes value = set.keep(std::string((9 << 20) + 3, letter));
      set.samples.push_back({std::to_string(set.samples.size()), {value}});
    }
    const TempDir dir;
    (void)write_set(format, set, dir / "out");
    const ReadSet read = read_set(dir / "out");
    for (std::size_t i = 0; i < set.samples.size(); ++i)
      CHECK(are_equal(read.samples.at(i).sample.values[0], set.samples[i].values[0]));
    CHECK(first_finding(verified(dir / "out", VerifyDepth::deep)) == "");
  });
}

TEST_CASE("fixed rows: the manifest says where every value of every row lies, as it is stored") {
  for_each_fixed_format([](const Format& format, const Schema& schema) {
    const TempDir dir;
    const SampleSet set = odd_samples(schema);
    (void)write_set(format, set, dir / "out");
    const ReadSet read = read_set(dir / "out");
    const ShardLayout& layout = read.manifest.layout;
    const ManifestShard& shard = read.shards.at(0);
    CHECK(shard.index.name.empty());
    REQUIRE(shard.bases.size() == schema.fields.size());
    for (std::size_t f = 0; f < schema.fields.size(); ++f) {
      const std::string file = read_text(
          join_path(dir / "out", shard.files[layout.part_file[layout.field_part[f]]].name));
      const std::uint64_t stride = fixed_bytes_of(schema.fields[f]).value();
      for (std::size_t i = 0; i < set.samples.size(); ++i) {
        const std::vector<std::byte> stored =
            encode_fixed_row(set.samples[i], schema).parts[f].flattened();
        CHECK(file.substr(shard.bases[f] + i * stride, stride) == as_text(stored));
      }
    }
  });
}

TEST_CASE("fixed rows: a damaged value changes no other, and is found by its block") {
  for_each_fixed_format([](const Format& format, const Schema& schema) {
    const TempDir dir;
    const SampleSet set = plain_samples(schema, 6, 0);
    (void)write_set(format, set, dir / "out");
    const ReadSet sound = read_set(dir / "out");
    const ShardLayout& layout = sound.manifest.layout;
    const std::size_t label = schema.find("label").value();
    const std::string name = sound.shards[0].files[layout.part_file[layout.field_part[label]]].name;
    std::fstream(join_path(dir / "out", name), std::ios::binary | std::ios::in | std::ios::out)
        .seekp(static_cast<std::streamoff>(sound.shards[0].bases[label] + 4 * 8))
        .put('!');

    const ReadSet changed = read_set(dir / "out");

    for (std::size_t i = 0; i < set.samples.size(); ++i) {
      for (std::size_t f = 0; f < schema.fields.size(); ++f) {
        CHECK(are_equal(changed.samples[i].sample.values[f], set.samples[i].values[f]) ==
              (i != 4 || f != label));
      }
    }
    CHECK(names_file(verified(dir / "out"), name));
  });
}

TEST_CASE("fixed rows: the scan finds each flipped bit in front of the rows, and each cut") {
  for_each_fixed_format([](const Format& format, const Schema& schema) {
    const TempDir dir;
    (void)write_set(format, plain_samples(schema, 3, 0), dir / "out");
    const ReadSet read = read_set(dir / "out");
    const ManifestShard& shard = read.shards[0];
    const auto findings = [&] {
      return scan_shard(format, dir / "out", read.manifest, shard, false).findings;
    };
    CHECK(findings().empty());
    const std::uint64_t first_row = *std::ranges::min_element(shard.bases);
    for (const ManifestFile& file : shard.files) {
      CAPTURE(file.name);
      const std::string path = join_path(dir / "out", file.name), whole = read_text(path);
      const SampledWalk bits(first_row * 8, 1000), cuts(whole.size(), 250);
      for (std::size_t bit = bits.first; bit < first_row * 8; bit += bits.step) {
        std::string flipped = whole;
        flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
        write_file(path, flipped);
        if (findings().empty()) FAIL_CHECK("bit ", bit);
      }
      for (std::size_t bytes = cuts.first; bytes < whole.size(); bytes += cuts.step) {
        write_file(path, whole.substr(0, bytes));
        if (findings().empty()) FAIL_CHECK("cut to ", bytes);
      }
      write_file(path, whole + '\0');
      CHECK(!findings().empty());
      write_file(path, whole);
    }
  });
}

}  // namespace
}  // namespace shale
