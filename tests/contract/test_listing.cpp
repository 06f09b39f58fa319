#include <limits>

#include "shale/base/path_text.hpp"
#include "shale/ops/inspect.hpp"
#include "shale/ops/sample_list.hpp"

#include "tests/contract/contract_tools.hpp"

// What `shale ls` promises of every format.

namespace shale {
namespace {

using namespace test;

std::vector<ListedSample> listed(const std::string& path) {
  const Events events;
  SampleList list({.path = path}, 0, std::numeric_limits<std::uint64_t>::max(), events);
  std::vector<ListedSample> all;
  for (std::vector<ListedSample> some = list.next(); !some.empty(); some = list.next())
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

void flip_bit(const std::string& path, std::uint64_t offset) {
  std::string bytes = read_text(path);
  bytes.at(offset) = static_cast<char>(bytes[offset] ^ 1);
  write_file(path, bytes);
}

}  // namespace

TEST_CASE("listing: every sample is listed once, in order, over the borders of shards") {
  for_each_layout([&](const Format& format, const Schema& schema) {
    const TempDir dir;
    const std::string out = dir / "out";
    (void)write_set(format, plain_samples(schema, 25, 60), out, {.limit_samples = 9});
    const std::vector<ListedSample> samples = listed(out);
    REQUIRE(samples.size() == 25);
    for (std::uint64_t row = 0; row < samples.size(); ++row) {
      const FoundSample found = find_row({.path = out}, row, {});
      std::uint64_t bytes = 0;
      for (std::size_t i = 0; i < schema.fields.size(); ++i) {
        bytes += payload_bytes_of(found.sample.values[i]);
      }
      CHECK(samples[row].row == row);
      CHECK(samples[row].key == found.sample.key);
      CHECK(samples[row].bytes == bytes);
    }
  });
}

TEST_CASE("listing: odd keys come as they are") {
  for_each_layout([&](const Format& format, const Schema& schema) {
    if (has_columns(format, schema)) return;  // keys are numbers
    const TempDir dir;
    const std::string out = dir / "out";
    const SampleSet set = odd_samples(schema);
    (void)write_set(format, set, out);
    const std::vector<ListedSample> samples = listed(out);
    REQUIRE(samples.size() == set.samples.size());
    for (std::size_t row = 0; row < samples.size(); ++row)
      CHECK(samples[row].key == set.samples[row].key);
  });
}

TEST_CASE("listing: a flipped bit of a key or of an index is damage, not another name") {
  for_each_layout([&](const Format& format, const Schema& schema) {
    if (has_columns(format, schema)) return;  // neither keys nor index
    const TempDir dir;
    const std::string out = dir / "out";
    const Manifest manifest = write_set(format, plain_samples(schema, 7, 60), out);
    const FoundSample found = find_row({.path = out}, 3, {});
    const ManifestShard shard = open_dataset({.path = out}, {}).shards[0];
    const std::string index = join_path(out, shard.index.name);
    const std::uint64_t middle = read_text(index).size() / 2;
    flip_bit(index, middle);
    CHECK(error_of([&] { (void)listed(out); }).code() == Code::damaged);
    flip_bit(index, middle);
    const ShardLayout& layout = manifest.layout;
    const std::string keys = join_path(out, shard.files[layout.part_file[layout.key_part]].name);
    flip_bit(keys, found.place.key.offset);
    const Error error = error_of([&] { (void)listed(out); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == keys);
    CHECK(error.offset() == found.place.key.offset);
  });
}

TEST_CASE("listing: a flipped bit of a label is damage, also where rows have no checksums") {
  for_each_layout([&](const Format& format, const Schema& schema) {
    const std::size_t label = schema.find("label").value();
    REQUIRE(schema.fields[label].kind == Kind::integer);
    const TempDir dir;
    const std::string out = dir / "out";
    const Manifest manifest = write_set(format, plain_samples(schema, 7, 60), out);
    const std::vector<ListedSample> samples = listed(out);
    for (std::uint64_t row = 0; row < samples.size(); ++row) {
      const FoundSample found = find_row({.path = out}, row, {});
      const auto* const expected = std::get_if<std::int64_t>(&found.sample.values[label]);
      CHECK(samples[row].label == (expected ? std::optional(*expected) : std::nullopt));
    }
    if (!has_columns(format, schema)) return;  // labels are in the index
    const ManifestShard shard = open_dataset({.path = out}, {}).shards[0];
    const std::size_t part = manifest.layout.part_file[manifest.layout.field_part[label]];
    const std::string file = join_path(out, shard.files[part].name);
    flip_bit(file, shard.bases[label]);
    const Error error = error_of([&] { (void)listed(out); });
    CHECK(error.code() == Code::damaged);
    CHECK(error.file() == file);
  });
}

}  // namespace shale
